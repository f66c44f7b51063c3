#pragma once

#include <cstdint>

namespace horizon {

// Sizes of the scratch memory in which the columns of a [rows, width] matrix are summed
// (cuda_column_sums.cuh). It holds the fp64 totals of all columns, padded to 16 bytes, and after
// them the fp32 sums of as many tiles of rows as fit, at least one tile.
constexpr int64_t ColumnTotalsBytes(int64_t width) { return (width * 8 + 15) / 16 * 16; }
constexpr int64_t LeastColumnScratchBytes(int64_t width) {
  return ColumnTotalsBytes(width) + width * 4;
}

}  // namespace horizon
