#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace horizon {

// The content of model.safetensors.index.json: which shard of a model holds which tensor.
struct ShardIndex {
  std::vector<std::string> shards;  // sorted and unique
  // (tensor, position in `shards`), sorted by tensor; each tensor is listed once.
  std::vector<std::pair<std::string, size_t>> tensors;
};

// Parses and checks the text of an index. Returns DataLoss, with file and key, if it is not JSON,
// has no `weight_map` of strings, lists a tensor twice, or names a shard that is not a plain file
// name. `file` is for messages. Other keys than `weight_map` are ignored.
absl::StatusOr<ShardIndex> ParseShardIndex(const std::string& file, std::string_view text);

// Returns InvalidArgument with the reason unless `name` is a plain name of a safetensors file: no
// directory, no "..", no control characters, at most 255 bytes, ending in ".safetensors".
absl::Status CheckShardName(std::string_view name);

}  // namespace horizon
