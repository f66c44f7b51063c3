#include "runtime/checkpoint/checkpoint_layout.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "common/check.h"
#include "common/checked.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "model/files/model_folder_writer.h"
#include "model/files/safetensors_layout.h"
#include "model/files/tensor_entry.h"

namespace horizon {
namespace {

constexpr std::string_view kWeightsStem = "model";
constexpr std::string_view kLowStem = "low";
constexpr std::string_view kMomentsStem = "moments";
constexpr std::string_view kIndexFile = "model.safetensors.index.json";
constexpr size_t kMostEntries = 500'000;
// Of a manifest: its facts, and a row a part.
constexpr uint64_t kManifestFacts = 64 << 10;
constexpr uint64_t kManifestRow = 320;
constexpr uint64_t kDiskBlock = 4096;

struct PartType {
  StatePart part;
  Dtype dtype;
};

// The parts of a format, in StatePart's order.
std::vector<PartType> PartsOf(StateFormat format, SaveMode mode) {
  std::vector<PartType> parts = {{StatePart::kHi, Dtype::kBF16}};
  if (mode == SaveMode::kWeights) return parts;
  if (format != StateFormat::kBf16Weights) parts.push_back({StatePart::kLo, Dtype::kI16});
  Dtype moments = Dtype::kF32;
  if (format == StateFormat::kBf16Moments) moments = Dtype::kBF16;
  if (format == StateFormat::k8BitMoments) moments = Dtype::kU8;
  parts.push_back({StatePart::kFirstMoment, moments});
  parts.push_back({StatePart::kSecondMoment, moments});
  if (format == StateFormat::k8BitMoments) {
    parts.push_back({StatePart::kFirstScale, Dtype::kF32});
    parts.push_back({StatePart::kSecondScale, Dtype::kF32});
  }
  return parts;
}

std::string_view StemOf(StatePart part) {
  if (part == StatePart::kHi) return kWeightsStem;
  return part == StatePart::kLo ? kLowStem : kMomentsStem;
}

bool IsScale(StatePart part) {
  return part == StatePart::kFirstScale || part == StatePart::kSecondScale;
}

absl::StatusOr<std::vector<int64_t>> ShapeOf(const SavedTensor& tensor, StatePart part) {
  if (!IsScale(part)) return tensor.shape;
  // One byte an element: the bytes of such a tensor count its parameters.
  const std::optional<Bytes> parameters = TensorBytes(Dtype::kU8, tensor.shape);
  if (!parameters.has_value()) {
    return absl::InvalidArgumentError(StrCat("tensor ", Quoted(tensor.name), " of shape ",
                                             ShapeForMessage(tensor.shape),
                                             " has no size below 2^64"));
  }
  const auto parts = static_cast<uint64_t>(tensor.parts);
  const Bytes each = *parameters / parts;
  return std::vector<int64_t>{
      static_cast<int64_t>(parts * (each.RoundedUp(kMomentBlock).value() / kMomentBlock))};
}

// Lays out the files of one stem, in which `members` (positions of entries) lie.
absl::Status AddFiles(std::string_view stem, const std::vector<size_t>& members, Bytes max_shard,
                      CheckpointLayout& layout) {
  std::vector<TensorDeclaration> declared;
  declared.reserve(members.size());
  for (const size_t i : members) {
    const CheckpointEntry& entry = layout.entries[i];
    declared.push_back({.name = SavedName(layout.tensors[entry.tensor].name, entry.part),
                        .dtype = entry.dtype,
                        .shape = entry.shape});
  }
  ASSIGN_OR_RETURN(const std::vector<ShardRange> shards, SplitIntoShards(declared, max_shard));
  for (size_t number = 0; number < shards.size(); ++number) {
    const auto [begin, end] = shards[number];
    CheckpointFile file{.name = ShardName(stem, number, shards.size())};
    // transformers refuses weights that do not say which framework wrote them.
    ASSIGN_OR_RETURN(SafetensorsLayout shard,
                     LayOutSafetensors(file.name,
                                       std::vector<TensorDeclaration>(declared.begin() + begin,
                                                                      declared.begin() + end),
                                       {{"format", "pt"}}));
    for (size_t i = begin; i < end; ++i) {
      const TensorEntry* place = shard.header.Find(declared[i].name);
      CHECK(place != nullptr);
      CheckpointEntry& entry = layout.entries[members[i]];
      entry.file = layout.files.size();
      entry.offset = shard.text.size() + place->begin;
      entry.bytes = place->bytes();
    }
    const Bytes bytes = shard.data_bytes + Bytes(shard.text.size());
    file.start = std::move(shard.text);
    file.bytes = bytes;
    layout.total_bytes += bytes;
    layout.files.push_back(std::move(file));
  }
  if (stem == kWeightsStem && shards.size() > 1) {
    CheckpointFile index{.name = std::string(kIndexFile),
                         .start = ShardIndexText(declared, shards)};
    index.bytes = Bytes(index.start.size());
    layout.total_bytes += index.bytes;
    layout.files.push_back(std::move(index));
  }
  return absl::OkStatus();
}

absl::Status CheckNames(const std::vector<SavedTensor>& tensors) {
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const SavedTensor& tensor : tensors) names.emplace_back(tensor.name);
  std::sort(names.begin(), names.end());
  const auto twin = std::adjacent_find(names.begin(), names.end());
  if (twin != names.end()) {
    return absl::InvalidArgumentError(StrCat("tensor ", Quoted(*twin), " is to be saved twice"));
  }
  return absl::OkStatus();
}

Bytes DiskBytesOf(Bytes files, const CheckpointLayout& layout, int64_t copies) {
  const CheckedU64 manifest = CheckedU64(layout.entries.size()) * kManifestRow + kManifestFacts;
  const CheckedU64 blocks = CheckedU64(layout.files.size() + 2) * kDiskBlock;
  return (files + Bytes(manifest) + Bytes(blocks)) * CheckedU64::FromSigned(copies);
}

}  // namespace

const CheckpointEntry* CheckpointLayout::Find(size_t tensor, StatePart part) const {
  const size_t each = entries_per_tensor();
  if (tensor >= tensors.size()) return nullptr;
  for (const CheckpointEntry& entry : std::span(entries).subspan(tensor * each, each)) {
    if (entry.part == part) return &entry;
  }
  return nullptr;
}

absl::StatusOr<CheckpointLayout> LayOutCheckpoint(std::vector<SavedTensor> tensors,
                                                  StateFormat format, SaveMode mode,
                                                  Bytes max_shard) {
  RETURN_IF_ERROR(CheckNames(tensors));
  CheckpointLayout layout{.mode = mode, .format = format, .tensors = std::move(tensors)};
  const std::vector<PartType> parts = PartsOf(format, mode);
  if (layout.tensors.size() > kMostEntries / parts.size()) {
    return absl::InvalidArgumentError(StrCat("a checkpoint of ", layout.tensors.size(),
                                             " tensors has more than ", kMostEntries, " parts"));
  }
  for (size_t tensor = 0; tensor < layout.tensors.size(); ++tensor) {
    for (const PartType& type : parts) {
      CheckpointEntry entry{.tensor = tensor, .part = type.part, .dtype = type.dtype};
      ASSIGN_OR_RETURN(entry.shape, ShapeOf(layout.tensors[tensor], type.part));
      layout.entries.push_back(std::move(entry));
    }
  }
  for (const std::string_view stem : {kWeightsStem, kLowStem, kMomentsStem}) {
    std::vector<size_t> members;
    for (size_t i = 0; i < layout.entries.size(); ++i) {
      if (StemOf(layout.entries[i].part) == stem) members.push_back(i);
    }
    // A model without tensors still has its file of weights.
    if (members.empty() && stem != kWeightsStem) continue;
    RETURN_IF_ERROR(AddFiles(stem, members, max_shard, layout));
    if (stem == kWeightsStem) layout.weights_bytes = layout.total_bytes;
  }
  if (!layout.total_bytes.ok()) {
    return absl::InvalidArgumentError("a checkpoint of this model has no size below 2^64 bytes");
  }
  return layout;
}

Bytes DiskBytes(const CheckpointLayout& layout, int64_t copies, Bytes extra) {
  return DiskBytesOf(layout.total_bytes + extra, layout, copies);
}

absl::Status CheckFreeSpace(Io& io, const std::string& folder, const CheckpointLayout& layout,
                            int64_t copies, Bytes extra) {
  ASSIGN_OR_RETURN(const Bytes free, io.FreeSpace(folder));
  const Bytes needed = DiskBytes(layout, copies, extra);
  if (needed <= free) return absl::OkStatus();
  std::string message =
      StrCat("cannot save to '", folder, "': ", copies,
             copies == 1 ? " checkpoint needs " : " checkpoints need ", needed.value(), " bytes (",
             ToString(needed), "), and ", free.value(), " (", ToString(free), ") are free; ");
  const Bytes weights = DiskBytesOf(layout.weights_bytes + extra, layout, copies);
  if (layout.mode == SaveMode::kFull && weights <= free) {
    message += StrCat("--save weights needs ", weights.value(), " (", ToString(weights),
                      ") and fits, but cannot be resumed from; or free some space");
  } else {
    message += "free some space, choose another folder, or --save none";
  }
  return absl::ResourceExhaustedError(message);
}

}  // namespace horizon
