// Sums the columns of a matrix into a gradient: of a bias, or of the weight of a norm. The order of
// the additions is that of the host kernels: the rows of a tile of 64 are added in fp32, and the
// tiles in fp64, both in ascending order. One kernel stores the sums of tiles in scratch memory, a
// second adds them up. If the scratch memory does not hold all tiles, the two kernels alternate.
// The number of tiles that fit does not change the bits.
#pragma once

#include <algorithm>

#include "kernels/cuda/cuda_column_scratch.h"
#include "kernels/cuda/cuda_gradient.cuh"
#include "kernels/cuda/cuda_launch.cuh"

namespace horizon {

inline constexpr int64_t kColumnTileRows = 64;
inline constexpr unsigned kColumnThreads = 128;

// The tiles [first, first + count) of a [rows, width] matrix.
struct ColumnTiles {
  int64_t rows;
  int64_t width;
  int64_t first;
  int64_t count;
};

// Stores the column sums of each tile in sums[count, width]. terms(row, column, count) returns the
// kElementsPerThread numbers of a row from `column` on as fp32, the first `count` of which are
// inside. Each .cu file has a Terms type of its own, so that no two files instantiate the same
// kernel.
template <typename Terms>
__global__ void __launch_bounds__(kColumnThreads, 8)
    SumColumnTiles(ColumnTiles tiles, Terms terms, float* sums, bool whole) {
  const int64_t groups = (tiles.width + kElementsPerThread - 1) / kElementsPerThread;
  const int64_t stride = int64_t{gridDim.x} * kColumnThreads;
  for (int64_t item = int64_t{blockIdx.x} * kColumnThreads + threadIdx.x;
       item < tiles.count * groups; item += stride) {
    const int64_t tile = item / groups;
    const int64_t column = item % groups * kElementsPerThread;
    const int64_t count = tiles.width - column;
    const int64_t begin = (tiles.first + tile) * kColumnTileRows;
    const int64_t end = begin + kColumnTileRows < tiles.rows ? begin + kColumnTileRows : tiles.rows;
    ThreadElements<float> sum = {};
#pragma unroll 2
    for (int64_t row = begin; row < end; ++row) {
      const ThreadElements<float> term = terms(row, column, count);
#pragma unroll
      for (int j = 0; j < kElementsPerThread; ++j) sum[j] = __fadd_rn(sum[j], term[j]);
    }
    StoreElements(sums + tile * tiles.width + column, sum, count, whole);
  }
}

// Adds the sums of tiles to `totals`, which start at zero with the first tile. With `last` it
// stores the totals as the gradient.
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

// Launches the sum of all columns on the stream. `width` is not 0; `rows` may be. `scratch` is
// device memory, aligned to 16 bytes, of at least LeastColumnScratchBytes(width).
template <typename Terms>
CudaResult LaunchColumnSums(int64_t rows, int64_t width, const Terms& terms,
                            const GradientOut& gradient, void* scratch, int64_t scratch_bytes,
                            CUstream_st* stream) {
  auto* totals = static_cast<double*>(scratch);
  auto* sums = reinterpret_cast<float*>(static_cast<char*>(scratch) + ColumnTotalsBytes(width));
  const int64_t room = (scratch_bytes - ColumnTotalsBytes(width)) / (width * 4);
  const int64_t tile_count = (rows + kColumnTileRows - 1) / kColumnTileRows;
  const unsigned column_blocks = ThreadBlocksFor(width, kColumnThreads);
  int64_t first = 0;
  do {
    const int64_t count = std::min(room, tile_count - first);
    const ColumnTiles tiles{rows, width, first, count};
    if (count > 0) {
      const unsigned blocks = ThreadBlocksFor(
          count * ((width + kElementsPerThread - 1) / kElementsPerThread), kColumnThreads);
      const CudaResult result = Launch(SumColumnTiles<Terms>, LaunchShape{blocks, kColumnThreads},
                                       stream, tiles, terms, sums, width % kElementsPerThread == 0);
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
