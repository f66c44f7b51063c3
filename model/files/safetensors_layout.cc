#include "model/files/safetensors_layout.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/checked.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "model/files/tensor_entry.h"

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
    const std::optional<Bytes> bytes = TensorBytes(place.tensor->dtype, place.tensor->shape);
    place.begin = end.value();
    if (bytes.has_value()) end += bytes->count();
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
absl::StatusOr<SafetensorsHeader> ReadBack(std::string_view path, std::string_view text,
                                           const std::vector<Placed>& placed,
                                           const SafetensorsMetadata& metadata, Bytes data_bytes) {
  if (Bytes(text.size()) > kMaxSafetensorsHeaderBytes) {
    return absl::InvalidArgumentError(
        StrCat("the header of '", path, "' would take ", text.size(), " bytes, more than the ",
               kMaxSafetensorsHeaderBytes.value(), " allowed; write more files"));
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

absl::StatusOr<SafetensorsLayout> LayOutSafetensors(std::string_view path,
                                                    const std::vector<TensorDeclaration>& tensors,
                                                    const SafetensorsMetadata& metadata) {
  ASSIGN_OR_RETURN(const std::vector<Placed> placed, PlaceTensors(tensors));
  const std::string text = HeaderText(placed, metadata);
  SafetensorsLayout layout;
  layout.data_bytes = placed.empty() ? 0_B : Bytes(placed.back().end);
  ASSIGN_OR_RETURN(layout.header, ReadBack(path, text, placed, metadata, layout.data_bytes));
  layout.text = WithLengthBefore(text);
  return layout;
}

}  // namespace horizon
