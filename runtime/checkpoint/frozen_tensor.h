#pragma once

#include <cstdint>
#include <string>

namespace horizon {

// The checksum of a tensor that a run does not train, as the tensor was when the run read it. A
// checkpoint holds this instead of the tensor's bytes, so that resuming with a different base model
// is noticed and the tensor can be named.
struct FrozenTensor {
  std::string name;
  // CRC-32C of the tensor's high halves followed by its low halves. The low halves count as 0 where
  // compute does not read them.
  uint32_t crc32c = 0;
  friend bool operator==(const FrozenTensor&, const FrozenTensor&) = default;
};

}  // namespace horizon
