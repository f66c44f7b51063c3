#pragma once

#include <cstdint>

namespace horizon {

// Scratch of sums of columns (cuda_column_sums.cuh): the fp64 totals of all columns, padded to 16
// bytes, and then the fp32 sums of as many tiles of rows as fit, at least one.
constexpr int64_t ColumnTotalsBytes(int64_t width) { return (width * 8 + 15) / 16 * 16; }
constexpr int64_t LeastColumnScratchBytes(int64_t width) {
  return ColumnTotalsBytes(width) + width * 4;
}

}  // namespace horizon
