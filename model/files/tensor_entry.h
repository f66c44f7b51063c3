#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/units.h"
#include "model/files/dtype.h"

namespace horizon {

// One tensor of a safetensors file. [begin, end) are byte offsets from the start of the data
// section of the file.
struct TensorEntry {
  std::string name;
  Dtype dtype = Dtype::kF32;
  std::vector<int64_t> shape;  // row-major; empty: a scalar
  uint64_t begin = 0;
  uint64_t end = 0;

  Bytes bytes() const { return Bytes(end - begin); }
};

// The size of a tensor. Returns nothing if a dimension is negative, if the number of elements
// (multiplied from left to right) or of bits does not fit 64 bits, or if the bits are not a whole
// number of bytes.
std::optional<Bytes> TensorBytes(Dtype dtype, std::span<const int64_t> shape);

// "[2, 3]"; a long shape is cut.
std::string ShapeForMessage(std::span<const int64_t> shape);

}  // namespace horizon
