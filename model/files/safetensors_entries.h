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

inline constexpr size_t kMaxSafetensorsTensors = 1'000'000;

// A deque: a legal header holds ten million pairs, and a deque grows without a second copy.
using SafetensorsMetadata = std::deque<std::pair<std::string, std::string>>;

// What stands in the JSON text of a safetensors header, in file order.
struct SafetensorsEntries {
  SafetensorsMetadata metadata;
  std::vector<TensorEntry> tensors;
};

// Reads the header text and checks what one entry alone can break: the JSON, the keys, the dtype,
// the numbers, that range and shape give the same size, and that the range ends within the
// `data_bytes` of the file. Names that stand twice and gaps between tensors are for the caller
// (safetensors_header.h). DataLoss with the tensor and the reason; `file` is for messages. Stops at
// the first error, without recursion and without a tree in memory.
absl::StatusOr<SafetensorsEntries> ReadSafetensorsEntries(std::string_view file,
                                                          std::string_view text, Bytes data_bytes);

// DataLoss "'FILE' is no valid safetensors file: REASON".
absl::Status CorruptSafetensors(std::string_view file, std::string_view reason);

}  // namespace horizon
