#include "runtime/checkpoint/manifest.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "common/checked.h"
#include "common/documents/document.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "model/files/tensor_entry.h"
#include "runtime/checkpoint/checkpoint_names.h"
#include "runtime/checkpoint/manifest_text.h"

namespace horizon {
namespace {

// A field added to the position has to be written, read and compared here too.
static_assert(sizeof(DataPosition) == 2 * sizeof(int64_t));

constexpr DocumentLimits kLimits{.text = kMaxManifest, .depth = 8, .values = 10'000'000};

absl::Status Corrupt(const std::string& file, std::string_view reason) {
  return absl::DataLossError(StrCat("'", file, "' is no valid manifest: ", reason));
}

absl::StatusOr<std::string_view> CheckCrc(const std::string& file, std::string_view text) {
  const size_t last = ManifestLastLine("").size();
  if (text.size() < last) {
    return Corrupt(file, StrCat("it ends after ", text.size(), " bytes"));
  }
  const std::string_view before = text.substr(0, text.size() - last);
  const std::string expected = ManifestLastLine(before);
  if (text.substr(before.size()) == expected) return before;
  return Corrupt(file,
                 StrCat("its last line is ", Quoted(text.substr(before.size(), last - 1)),
                        " and should be ", Quoted(std::string_view(expected).substr(0, last - 1)),
                        ": it was changed or is not whole"));
}

// Reads the rows of `files` and `tensors`: arrays of a fixed number of columns. The first error is
// kept, as ObjectReader does it.
class RowReader {
 public:
  RowReader(const Document& document, const Value& row, std::string path, size_t columns)
      : document_(document), row_(row), path_(std::move(path)) {
    cells_ = row.As<Value::Array>();
    if (cells_ == nullptr || cells_->size() != columns) {
      Fail(StrCat("needs an array of ", columns, " values"));
    }
  }

  std::string Text() {
    const Value* cell = Next();
    const auto* text = cell == nullptr ? nullptr : cell->As<std::string>();
    if (text == nullptr) Fail("needs a string");
    return text == nullptr ? "" : *text;
  }
  // From 0 to 2^63 - 1.
  uint64_t Count() { return ToCount(Next()); }
  uint32_t Crc() {
    const std::string text = Text();
    uint32_t crc = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), crc, 16);
    if (text.size() != 8 || error != std::errc() || end != text.data() + 8) {
      Fail("needs a CRC-32C of eight hexadecimal digits");
    }
    return crc;
  }
  std::vector<int64_t> Shape() {
    const Value* cell = Next();
    const auto* dimensions = cell == nullptr ? nullptr : cell->As<Value::Array>();
    if (dimensions == nullptr) Fail("needs a shape");
    std::vector<int64_t> shape;
    if (dimensions == nullptr) return shape;
    for (const Value& value : *dimensions) shape.push_back(static_cast<int64_t>(ToCount(&value)));
    return shape;
  }
  void Fail(std::string_view message) {
    if (status_.ok()) status_ = ErrorAt(document_, row_, path_, message);
  }
  const absl::Status& status() const { return status_; }

 private:
  const Value* Next() { return status_.ok() ? &(*cells_)[next_++] : nullptr; }
  uint64_t ToCount(const Value* cell) {
    const auto* number = cell == nullptr ? nullptr : cell->As<int64_t>();
    if (number == nullptr || *number < 0) Fail("needs integers from 0 to 2^63 - 1");
    return number == nullptr || *number < 0 ? 0 : static_cast<uint64_t>(*number);
  }

  const Document& document_;
  const Value& row_;
  std::string path_;
  const Value::Array* cells_ = nullptr;
  size_t next_ = 0;
  absl::Status status_;
};

absl::Status ReadFileRow(const Document& document, const Value& row, std::string path,
                         Manifest& manifest) {
  RowReader reader(document, row, std::move(path), 4);
  FileRecord file;
  file.name = reader.Text();
  file.bytes = Bytes(reader.Count());
  file.head_bytes = Bytes(reader.Count());
  file.crc32c = reader.Crc();
  if (const absl::Status name = CheckFileName(file.name); !name.ok()) {
    reader.Fail(StrCat(name.message()));
  }
  if (file.head_bytes > file.bytes) reader.Fail("its head is longer than the file");
  RETURN_IF_ERROR(reader.status());
  manifest.files.push_back(std::move(file));
  return absl::OkStatus();
}

absl::Status ReadFrozenRow(const Document& document, const Value& row, std::string path,
                           Manifest& manifest) {
  RowReader reader(document, row, std::move(path), 2);
  FrozenTensor tensor;
  tensor.name = reader.Text();
  tensor.crc32c = reader.Crc();
  RETURN_IF_ERROR(reader.status());
  manifest.facts.frozen.push_back(std::move(tensor));
  return absl::OkStatus();
}

// What makes a record impossible, or "".
std::string ProblemOf(const TensorRecord& tensor, const Manifest& manifest) {
  if (tensor.file >= manifest.files.size()) return StrCat("there is no file ", tensor.file);
  const FileRecord& file = manifest.files[tensor.file];
  const std::optional<Bytes> bytes = TensorBytes(tensor.dtype, tensor.shape);
  if (bytes != tensor.bytes) {
    return StrCat("dtype ", ToString(tensor.dtype), " and shape ", ShapeForMessage(tensor.shape),
                  " do not take ", tensor.bytes.value(), " bytes");
  }
  const CheckedU64 end = CheckedU64(tensor.offset) + tensor.bytes.count();
  if (tensor.offset < file.head_bytes.value() || !end.ok() || end > file.bytes.count()) {
    return StrCat("bytes ", tensor.offset, " to ", end.value(), " are not in the data of '",
                  file.name, "'");
  }
  if (tensor.step != manifest.step) {
    return StrCat("it is of step ", tensor.step, " in a checkpoint of step ", manifest.step);
  }
  return "";
}

absl::Status ReadTensorRow(const Document& document, const Value& row, std::string path,
                           Manifest& manifest) {
  RowReader reader(document, row, std::move(path), 9);
  TensorRecord tensor;
  tensor.name = reader.Text();
  const absl::StatusOr<StatePart> part = ParseWord<StatePart>(reader.Text());
  const std::optional<Dtype> dtype = ParseDtype(reader.Text());
  tensor.shape = reader.Shape();
  tensor.file = reader.Count();
  tensor.offset = reader.Count();
  tensor.bytes = Bytes(reader.Count());
  tensor.crc32c = reader.Crc();
  tensor.step = static_cast<int64_t>(reader.Count());
  if (!part.ok()) reader.Fail("its part is unknown");
  if (!dtype.has_value()) reader.Fail("its dtype is unknown");
  RETURN_IF_ERROR(reader.status());
  tensor.part = *part;
  tensor.dtype = *dtype;
  const std::string problem = ProblemOf(tensor, manifest);
  if (!problem.empty()) {
    reader.Fail(StrCat("tensor ", Quoted(SavedName(tensor.name, tensor.part)), ": ", problem));
  }
  RETURN_IF_ERROR(reader.status());
  manifest.tensors.push_back(std::move(tensor));
  return absl::OkStatus();
}

template <typename ReadRow>
absl::Status ReadRows(const Document& document, ObjectReader& root, std::string_view key,
                      ReadRow read_row, Manifest& manifest) {
  const Value* rows = root.Take(key);
  const auto* array = rows == nullptr ? nullptr : rows->As<Value::Array>();
  if (array == nullptr) return ErrorAt(document, document.root, key, "needs an array of rows");
  for (size_t i = 0; i < array->size(); ++i) {
    RETURN_IF_ERROR(read_row(document, (*array)[i], StrCat(key, "[", i, "]"), manifest));
  }
  return absl::OkStatus();
}

absl::Status CheckUnique(const Manifest& manifest) {
  std::vector<std::string> names;
  for (const FileRecord& file : manifest.files) names.push_back(StrCat("file ", file.name));
  for (const TensorRecord& tensor : manifest.tensors) {
    names.push_back(StrCat("tensor ", SavedName(tensor.name, tensor.part), " in ", tensor.file));
    names.push_back(StrCat("part ", ToString(tensor.part), " of tensor ", tensor.name));
  }
  for (const FrozenTensor& tensor : manifest.facts.frozen) {
    names.push_back(StrCat("frozen tensor ", tensor.name));
  }
  std::sort(names.begin(), names.end());
  const auto twin = std::adjacent_find(names.begin(), names.end());
  if (twin == names.end()) return absl::OkStatus();
  return absl::DataLossError(StrCat(Quoted(*twin), " stands twice"));
}

// A member that is an object with a reader of its own (a job, a plan).
absl::StatusOr<Document> TakeObject(const Document& document, ObjectReader& root,
                                    std::string_view key) {
  const Value* value = root.Take(key);
  if (value == nullptr || value->As<Value::Object>() == nullptr) {
    return ErrorAt(document, document.root, key, "needs an object");
  }
  return Document{.file = document.file, .root = *value};
}

absl::Status ReadCounters(const Document& document, RunCounters& counters) {
  ObjectReader reader(document, document.root, "counters");
  reader.Required("skipped_steps", &counters.skipped_steps);
  reader.Required("tokens", &counters.tokens);
  counters.trained_tokens.reset();
  if (document.root.Find("trained_tokens") != nullptr) {
    reader.Required("trained_tokens", &counters.trained_tokens.emplace());
  }
  const auto read_loss = [&](std::string_view key, std::optional<double>& loss) {
    double value = NAN;
    reader.OptionalOrNull(key, &value);
    if (std::isfinite(value)) loss = value;
  };
  read_loss("first_loss", counters.first_loss);
  read_loss("best_loss", counters.best_loss);
  read_loss("last_loss", counters.last_loss);
  return reader.Finish();
}

absl::Status ReadData(const Document& document, CheckpointFacts& facts) {
  ObjectReader reader(document, document.root, "data");
  reader.Required("fingerprint", &facts.data_fingerprint);
  reader.Required("epoch", &facts.data_position.epoch);
  reader.Required("index", &facts.data_position.index);
  if (facts.data_position.epoch < 0) reader.Fail("epoch", "is below 0");
  if (facts.data_position.index < 0) reader.Fail("index", "is below 0");
  return reader.Finish();
}

absl::Status ReadFacts(const Document& document, ObjectReader& root, CheckpointFacts& facts) {
  ASSIGN_OR_RETURN(const Document job, TakeObject(document, root, "job"));
  ASSIGN_OR_RETURN(facts.job, ReadJob(job));
  ASSIGN_OR_RETURN(const Document plan, TakeObject(document, root, "plan"));
  ASSIGN_OR_RETURN(facts.plan, ReadPlan(plan));
  root.Required("model_fingerprint", &facts.model_fingerprint);
  ASSIGN_OR_RETURN(const Document data, TakeObject(document, root, "data"));
  RETURN_IF_ERROR(ReadData(data, facts));
  root.Required("generator_key", &facts.generator_key);
  ASSIGN_OR_RETURN(const Document counters, TakeObject(document, root, "counters"));
  RETURN_IF_ERROR(ReadCounters(counters, facts.counters));
  root.Required("metrics_lines", &facts.metrics_lines);
  if (facts.metrics_lines < 0) root.Fail("metrics_lines", "is below 0");
  return absl::OkStatus();
}

absl::StatusOr<Manifest> ReadFields(const Document& document, int64_t version) {
  Manifest manifest;
  ObjectReader root(document, document.root);
  root.Ignore({"version", "crc32c"});
  root.Required("step", &manifest.step);
  std::string mode;
  root.Required("mode", &mode);
  if (manifest.step < 0 || manifest.step >= kMaxStep) root.Fail("step", "is out of range");
  const absl::StatusOr<SaveMode> known_mode = ParseWord<SaveMode>(mode);
  if (!known_mode.ok()) root.Fail("mode", StrCat(known_mode.status().message()));
  RETURN_IF_ERROR(ReadFacts(document, root, manifest.facts));
  if (version >= 2) RETURN_IF_ERROR(ReadRows(document, root, "frozen", ReadFrozenRow, manifest));
  RETURN_IF_ERROR(ReadRows(document, root, "files", ReadFileRow, manifest));
  RETURN_IF_ERROR(ReadRows(document, root, "tensors", ReadTensorRow, manifest));
  RETURN_IF_ERROR(root.Finish());
  manifest.mode = *known_mode;
  RETURN_IF_ERROR(CheckUnique(manifest));
  return manifest;
}

}  // namespace

Bytes Manifest::total_bytes() const {
  Bytes total;
  for (const FileRecord& file : files) total += file.bytes;
  return total;
}

absl::StatusOr<Manifest> ParseManifest(const std::string& file, std::string_view text) {
  RETURN_IF_ERROR(CheckCrc(file, text).status());
  const absl::StatusOr<Document> document = ParseJson(file, text, kLimits);
  if (!document.ok()) return absl::DataLossError(document.status().message());
  const Value* version = document->root.Find("version");
  const auto* number = version == nullptr ? nullptr : version->As<int64_t>();
  if (number == nullptr || *number < 1) return Corrupt(file, "it does not say its version");
  if (*number > kManifestVersion) {
    return absl::InvalidArgumentError(StrCat(
        "'", file, "' has version ", *number, ", written by a newer horizon; this one reads ",
        "versions up to ", kManifestVersion, ": use the newer one"));
  }
  absl::StatusOr<Manifest> manifest = ReadFields(*document, *number);
  if (!manifest.ok()) return Corrupt(file, StrCat(manifest.status().message()));
  return manifest;
}

}  // namespace horizon
