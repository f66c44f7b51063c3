#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace horizon {

// model.safetensors.index.json: which shard of a model holds which tensor.
struct ShardIndex {
  std::vector<std::string> shards;  // sorted, each once
  // (tensor, position in `shards`), sorted by tensor, each tensor once.
  std::vector<std::pair<std::string, size_t>> tensors;
};

// Reads and checks the text of an index. DataLoss, with file and key, when it is no JSON, has no
// `weight_map` of strings, maps a tensor twice, or names a shard that is no plain file name.
// `file` is for messages. Keys beside `weight_map` are not looked at.
absl::StatusOr<ShardIndex> ParseShardIndex(const std::string& file, std::string_view text);

// InvalidArgument, with the reason, unless `name` is a plain name of a safetensors file: no
// directory, no "..", no control characters, at most 255 bytes, ending in ".safetensors".
absl::Status CheckShardName(std::string_view name);

}  // namespace horizon
