// Sums of columns into a gradient, in the order of the host bodies: rows in tiles of 64 (fp32),
// tiles in fp64, ascending. A first kernel puts the sums of tiles into scratch, a second adds them
// up; where scratch does not hold all tiles they take turns. How many fit changes no bit.
#pragma once

#include <algorithm>

#include "kernels/cuda/cuda_column_scratch.h"
#include "kernels/cuda/cuda_gradient.cuh"
#include "kernels/cuda/cuda_launch.cuh"

namespace horizon {

inline constexpr int64_t kColumnTileRows = 64;
inline constexpr unsigned kColumnThreads = 128;

// Tiles [first, first + count) of a matrix of `rows` x `width`.
struct ColumnTiles {
  int64_t rows;
  int64_t width;
  int64_t first;
  int64_t count;
};

// sums[count, width]. terms(row, column, count) gives up to eight numbers of a row as fp32; its
// type is of one source alone, so that no two sources have the same kernel.
template <typename Terms>
__global__ void __launch_bounds__(kColumnThreads, 8)
    SumColumnTiles(ColumnTiles tiles, Terms terms, float* sums, bool whole) {
  const int64_t eights = (tiles.width + 7) / 8;
  const int64_t stride = int64_t{gridDim.x} * kColumnThreads;
  for (int64_t item = int64_t{blockIdx.x} * kColumnThreads + threadIdx.x;
       item < tiles.count * eights; item += stride) {
    const int64_t tile = item / eights;
    const int64_t column = item % eights * 8;
    const int64_t count = tiles.width - column;
    const int64_t begin = (tiles.first + tile) * kColumnTileRows;
    const int64_t end = begin + kColumnTileRows < tiles.rows ? begin + kColumnTileRows : tiles.rows;
    Eight<float> sum = {};
#pragma unroll 2
    for (int64_t row = begin; row < end; ++row) {
      const Eight<float> term = terms(row, column, count);
#pragma unroll
      for (int j = 0; j < 8; ++j) sum[j] = __fadd_rn(sum[j], term[j]);
    }
    StoreEight(sums + tile * tiles.width + column, sum, count, whole);
  }
}

// Adds the tiles' sums to `totals`, which begin as zero with the first tile; the last ones make the
// gradient.
template <typename Terms>
__global__ void __launch_bounds__(kColumnThreads)
    AddColumnTiles(ColumnTiles tiles, const float* sums, double* totals, bool last,
                   GradientOut out) {
  const int64_t stride = int64_t{gridDim.x} * kColumnThreads;
  for (int64_t column = int64_t{blockIdx.x} * kColumnThreads + threadIdx.x; column < tiles.width;
       column += stride) {
    double total = tiles.first == 0 ? 0.0 : totals[column];
#pragma unroll 8
    for (int64_t tile = 0; tile < tiles.count; ++tile) {
      total = __dadd_rn(total, sums[tile * tiles.width + column]);
    }
    if (last) {
      StoreGradientValue(out, column, static_cast<float>(total));
    } else {
      totals[column] = total;
    }
  }
}

// `scratch`: device memory, aligned to 16, at least LeastColumnScratchBytes(width). `width` > 0.
template <typename Terms>
CudaResult LaunchColumnSums(int64_t rows, int64_t width, const Terms& terms,
                            const GradientOut& gradient, void* scratch, int64_t scratch_bytes,
                            CUstream_st* stream) {
  auto* totals = static_cast<double*>(scratch);
  auto* sums = reinterpret_cast<float*>(static_cast<char*>(scratch) + ColumnTotalsBytes(width));
  const int64_t room = (scratch_bytes - ColumnTotalsBytes(width)) / (width * 4);
  const int64_t tile_count = (rows + kColumnTileRows - 1) / kColumnTileRows;
  const unsigned column_blocks = BlocksFor(width, kColumnThreads);
  int64_t first = 0;
  do {
    const int64_t count = std::min(room, tile_count - first);
    const ColumnTiles tiles{rows, width, first, count};
    if (count > 0) {
      const unsigned blocks = BlocksFor(count * ((width + 7) / 8), kColumnThreads);
      const CudaResult result = Launch(SumColumnTiles<Terms>, LaunchShape{blocks, kColumnThreads},
                                       stream, tiles, terms, sums, width % 8 == 0);
      if (result.code != 0) return result;
    }
    const bool last = first + count == tile_count;
    const CudaResult result =
        Launch(AddColumnTiles<Terms>, LaunchShape{column_blocks, kColumnThreads}, stream, tiles,
               sums, totals, last, gradient);
    if (result.code != 0) return result;
    first += count;
  } while (first < tile_count);
  return {};
}

}  // namespace horizon
