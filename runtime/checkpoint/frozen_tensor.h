#pragma once

#include <cstdint>
#include <string>

namespace horizon {

// A tensor that a run does not train, as it was when the run read it. A checkpoint holds no bytes
// of it, only this, so that going on with another base is noticed and the tensor can be named.
struct FrozenTensor {
  std::string name;
  // CRC-32C of its high halves followed by its low halves, which are 0 where compute does not read
  // them.
  uint32_t crc32c = 0;
  friend bool operator==(const FrozenTensor&, const FrozenTensor&) = default;
};

}  // namespace horizon
