#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/units.h"
#include "model/files/tensor_entry.h"

namespace horizon {

// The most tensors that one file may hold.
inline constexpr size_t kMaxSafetensorsTensors = 1'000'000;

// The key-value pairs of `__metadata__`. A deque, because a legal header can hold ten million
// pairs, and a deque grows without a second copy of them.
using SafetensorsMetadata = std::deque<std::pair<std::string, std::string>>;

// The content of the JSON text of a safetensors header, in file order.
struct SafetensorsEntries {
  SafetensorsMetadata metadata;
  std::vector<TensorEntry> tensors;
};

// Parses the header text and checks every entry by itself: the JSON, the keys, the dtype, the
// numbers, that byte range and shape give the same size, and that the range ends within the
// `data_bytes` of the file. It does not check for duplicate names or for gaps between tensors;
// ParseSafetensorsHeader (safetensors_header.h) does. Returns DataLoss with the tensor and the
// reason; `file` is for messages. Stops at the first error. Uses no recursion and builds no tree in
// memory.
absl::StatusOr<SafetensorsEntries> ReadSafetensorsEntries(std::string_view file,
                                                          std::string_view text, Bytes data_bytes);

// Returns DataLoss "'FILE' is no valid safetensors file: REASON".
absl::Status CorruptSafetensors(std::string_view file, std::string_view reason);

}  // namespace horizon
