#include "model/safetensors_writer.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "common/check.h"
#include "common/checked.h"
#include "common/json.h"
#include "common/quote.h"
#include "common/status_macros.h"
#include "common/str_cat.h"

namespace horizon {
namespace {

// A tensor with its place in the data section.
struct Placed {
  const TensorDeclaration* tensor;
  uint64_t begin;
  uint64_t end;
};

absl::StatusOr<std::vector<Placed>> PlaceTensors(const std::vector<TensorDeclaration>& tensors) {
  std::vector<Placed> placed;
  placed.reserve(tensors.size());
  for (const TensorDeclaration& tensor : tensors) placed.push_back({&tensor, 0, 0});
  // Sizes in bits fall, and each is a multiple of the next (6 and 4 apart, which need no
  // alignment), so that every tensor begins at a multiple of its element size.
  std::stable_sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) {
    return BitsOf(a.tensor->dtype) > BitsOf(b.tensor->dtype);
  });
  CheckedU64 end;
  for (Placed& place : placed) {
    const std::optional<uint64_t> bytes = TensorBytes(place.tensor->dtype, place.tensor->shape);
    place.begin = end.value();
    if (bytes.has_value()) end += *bytes;
    place.end = end.value();
    if (!bytes.has_value() || !end.ok()) {
      return absl::InvalidArgumentError(StrCat(
          "tensor ", Quoted(place.tensor->name), " of shape ", ShapeForMessage(place.tensor->shape),
          " and dtype ", ToString(place.tensor->dtype), " has no size in whole bytes below 2^64"));
    }
  }
  return placed;
}

std::string HeaderText(const std::vector<Placed>& placed, const SafetensorsMetadata& metadata) {
  JsonWriter writer(JsonWriter::Style::kOneLine);
  writer.BeginObject();
  if (!metadata.empty()) {
    writer.Key("__metadata__").BeginObject();
    for (const auto& [key, value] : metadata) writer.Key(key).String(value);
    writer.EndObject();
  }
  for (const Placed& place : placed) {
    writer.Key(place.tensor->name).BeginObject();
    writer.Key("dtype").String(ToString(place.tensor->dtype));
    writer.Key("shape").BeginArray();
    for (const int64_t dimension : place.tensor->shape) writer.Integer(dimension);
    writer.EndArray();
    writer.Key("data_offsets").BeginArray().Unsigned(place.begin).Unsigned(place.end).EndArray();
    writer.EndObject();
  }
  writer.EndObject();
  std::string text = std::move(writer).Finish();
  while (!text.empty() && text.back() == '\n') text.pop_back();
  // The data section starts at a multiple of 8, as the public library has it.
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

// Whatever we write must pass our own reader and give back what was declared: its rules are the
// check of the declared list.
absl::StatusOr<SafetensorsHeader> ReadBack(const std::string& path, std::string_view text,
                                           const std::vector<Placed>& placed,
                                           const SafetensorsMetadata& metadata,
                                           uint64_t data_bytes) {
  if (text.size() > kMaxSafetensorsHeaderBytes) {
    return absl::InvalidArgumentError(StrCat("the header of '", path, "' would take ", text.size(),
                                             " bytes, more than the ", kMaxSafetensorsHeaderBytes,
                                             " allowed; write more files"));
  }
  absl::StatusOr<SafetensorsHeader> header = ParseSafetensorsHeader(path, text, data_bytes);
  if (!header.ok()) {
    return absl::InvalidArgumentError(
        StrCat("the tensors declared for '", path, "' make no file: ", header.status().message()));
  }
  // JSON holds UTF-8 only; other bytes were replaced on the way.
  for (const Placed& place : placed) {
    if (header->Find(place.tensor->name) != nullptr) continue;
    return absl::InvalidArgumentError(
        StrCat("tensor name ", Quoted(place.tensor->name), " for '", path, "' is not UTF-8"));
  }
  if (header->metadata() != metadata) {
    return absl::InvalidArgumentError(StrCat("the metadata for '", path, "' are not UTF-8"));
  }
  return header;
}

std::string WithLengthBefore(std::string_view header) {
  std::string text;
  for (uint64_t i = 0; i < kSafetensorsPrefixBytes; ++i) {
    text.push_back(static_cast<char>(header.size() >> (8 * i) & 0xFF));
  }
  text += header;
  return text;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SafetensorsWriter>> SafetensorsWriter::Create(
    Io& io, const std::string& path, const std::vector<TensorDeclaration>& tensors,
    const SafetensorsWriterOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<Placed> placed, PlaceTensors(tensors));
  const std::string text = HeaderText(placed, options.metadata);
  auto writer = std::unique_ptr<SafetensorsWriter>(new SafetensorsWriter(io, path));
  writer->data_bytes_ = placed.empty() ? 0 : placed.back().end;
  writer->data_start_ = CheckedU64(kSafetensorsPrefixBytes) + text.size();
  writer->buffer_limit_ = std::max<uint64_t>(1, options.buffer.value());

  ASSIGN_OR_RETURN(writer->header_,
                   ReadBack(path, text, placed, options.metadata, writer->data_bytes_.value()));
  writer->written_.resize(writer->header_.tensors().size());

  ASSIGN_OR_RETURN(writer->file_, io.Open(path, OpenMode::kCreateNew));
  const std::string start = WithLengthBefore(text);
  RETURN_IF_ERROR(writer->file_->WriteAt(0, std::as_bytes(std::span(start))));
  return writer;
}

SafetensorsWriter::~SafetensorsWriter() { Discard(); }

void SafetensorsWriter::Discard() {
  if (file_ == nullptr) return;
  // The file is incomplete and about to go: neither result could change anything.
  file_->Close().IgnoreError();
  file_.reset();
  io_.Unlink(path_).IgnoreError();
}

absl::Status SafetensorsWriter::Append(std::string_view name, std::span<const std::byte> piece) {
  if (status_.ok()) status_ = AppendUnchecked(name, piece);
  return status_;
}

absl::Status SafetensorsWriter::AppendUnchecked(std::string_view name,
                                                std::span<const std::byte> piece) {
  CHECK(file_ != nullptr);
  const TensorEntry* tensor = header_.Find(name);
  if (tensor == nullptr) {
    return absl::InvalidArgumentError(
        StrCat("tensor ", Quoted(name), " was not declared for '", path_, "'"));
  }
  uint64_t& written = written_[static_cast<size_t>(tensor - header_.tensors().data())];
  if (piece.size() > tensor->bytes() - written) {
    return absl::InvalidArgumentError(StrCat("tensor ", Quoted(name), " of '", path_,
                                             "' was declared with ", tensor->bytes(), " bytes; ",
                                             piece.size(), " more came after ", written));
  }
  const CheckedU64 position = data_start_ + tensor->begin + written;
  RETURN_IF_ERROR(Put(position.value(), piece));
  written += piece.size();
  return absl::OkStatus();
}

absl::Status SafetensorsWriter::Put(uint64_t position, std::span<const std::byte> bytes) {
  const bool continues = position == buffer_position_ + buffer_.size();
  if (!buffer_.empty() && (!continues || bytes.size() > buffer_limit_ - buffer_.size())) {
    RETURN_IF_ERROR(Flush());
  }
  // What fills the buffer by itself goes straight from the caller's memory to the file.
  if (bytes.size() >= buffer_limit_) return file_->WriteAt(position, bytes);
  if (buffer_.empty()) buffer_position_ = position;
  if (buffer_.capacity() == 0) buffer_.reserve(buffer_limit_);
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  return absl::OkStatus();
}

absl::Status SafetensorsWriter::Flush() {
  if (buffer_.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(file_->WriteAt(buffer_position_, buffer_));
  buffer_.clear();
  return absl::OkStatus();
}

absl::Status SafetensorsWriter::CheckComplete() const {
  for (size_t i = 0; i < written_.size(); ++i) {
    const TensorEntry& tensor = header_.tensors()[i];
    if (written_[i] == tensor.bytes()) continue;
    return absl::FailedPreconditionError(StrCat("tensor ", Quoted(tensor.name), " of '", path_,
                                                "' got ", written_[i], " of its ", tensor.bytes(),
                                                " bytes; the file is not kept"));
  }
  return absl::OkStatus();
}

absl::Status SafetensorsWriter::Finish() {
  if (status_.ok() && file_ == nullptr) {
    status_ = absl::FailedPreconditionError(StrCat("'", path_, "' was finished before"));
    return status_;
  }
  if (status_.ok()) status_ = CheckComplete();
  if (status_.ok()) status_ = Flush();
  if (status_.ok()) status_ = file_->Sync();
  if (!status_.ok()) {
    Discard();
    return status_;
  }
  status_ = file_->Close();
  file_.reset();
  if (!status_.ok()) io_.Unlink(path_).IgnoreError();
  return status_;
}

}  // namespace horizon
