#include "model/files/shard_index.h"

#include <algorithm>
#include <map>

#include "common/documents/document.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr std::string_view kWeightMap = "weight_map";
constexpr std::string_view kSuffix = ".safetensors";
constexpr size_t kMaxNameBytes = 255;

absl::Status Corrupt(const std::string& file, std::string_view reason) {
  return absl::DataLossError(StrCat("'", file, "' is no valid index of shards: ", reason));
}

}  // namespace

absl::Status CheckShardName(std::string_view name) {
  const auto refuse = [&](std::string_view reason) {
    return absl::InvalidArgumentError(StrCat("shard name ", Quoted(name), " ", reason));
  };
  if (name.empty()) return refuse("is empty");
  if (name.size() > kMaxNameBytes) return refuse("is longer than 255 bytes");
  if (name.find_first_of("/\\") != std::string_view::npos) {
    return refuse("holds a directory; shards lie beside their index");
  }
  if (name.find("..") != std::string_view::npos) return refuse("holds '..'");
  if (std::any_of(name.begin(), name.end(),
                  [](unsigned char c) { return c < 0x20 || c == 0x7F; })) {
    return refuse("holds a control character");
  }
  if (!name.ends_with(kSuffix) || name == kSuffix) return refuse("does not end in .safetensors");
  return absl::OkStatus();
}

absl::StatusOr<ShardIndex> ParseShardIndex(const std::string& file, std::string_view text) {
  absl::StatusOr<Document> document = ParseJson(file, text);
  if (!document.ok()) return Corrupt(file, StrCat(document.status().message()));
  const Value* weight_map = document->root.Find(kWeightMap);
  if (weight_map == nullptr) return Corrupt(file, "weight_map is missing");
  const Value::Object* entries = weight_map->As<Value::Object>();
  if (entries == nullptr) {
    return Corrupt(file, StrCat("weight_map needs an object, found ", weight_map->KindName()));
  }

  ShardIndex index;
  std::map<std::string_view, size_t> positions;
  for (const auto& [tensor, value] : *entries) {
    const std::string* shard = value.As<std::string>();
    if (shard == nullptr) {
      return Corrupt(file, StrCat("weight_map needs a file name for tensor ", Quoted(tensor),
                                  ", found ", value.KindName()));
    }
    if (absl::Status status = CheckShardName(*shard); !status.ok()) {
      return Corrupt(file, StrCat("tensor ", Quoted(tensor), ": ", status.message()));
    }
    positions.emplace(*shard, 0);
  }
  for (auto& [shard, position] : positions) {
    position = index.shards.size();
    index.shards.emplace_back(shard);
  }
  index.tensors.reserve(entries->size());
  for (const auto& [tensor, value] : *entries) {
    index.tensors.emplace_back(tensor, positions.at(*value.As<std::string>()));
  }
  std::sort(index.tensors.begin(), index.tensors.end());
  const auto twin =
      std::adjacent_find(index.tensors.begin(), index.tensors.end(),
                         [](const auto& a, const auto& b) { return a.first == b.first; });
  if (twin != index.tensors.end()) {
    return Corrupt(file, StrCat("weight_map holds tensor ", Quoted(twin->first), " twice"));
  }
  return index;
}

}  // namespace horizon
