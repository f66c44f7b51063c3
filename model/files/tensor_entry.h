#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/units.h"
#include "model/files/dtype.h"

namespace horizon {

// One tensor of a safetensors file; [begin, end) are bytes counted from the start of the file's
// data section.
struct TensorEntry {
  std::string name;
  Dtype dtype = Dtype::kF32;
  std::vector<int64_t> shape;  // row-major; empty: one value
  uint64_t begin = 0;
  uint64_t end = 0;

  Bytes bytes() const { return Bytes(end - begin); }
};

// Checked bytes of a tensor; nullopt where the element count (product taken left to right) or the
// bits do not fit 64 bits, a dimension is negative, or the bits are no whole number of bytes.
std::optional<Bytes> TensorBytes(Dtype dtype, std::span<const int64_t> shape);

// "[2, 3]", cut where it is long.
std::string ShapeForMessage(std::span<const int64_t> shape);

}  // namespace horizon
