// The part of a matrix multiply that a thread block computes on the tensor cores: a tile of C, in
// steps of kMultiplyTileK of the sum. Three steps' parts of A and B lie in shared memory: while one
// is multiplied, the next two are on their way. Each of the eight warps has a part of the tile in
// its registers.
//   MultiplySums sums = {};
//   MultiplySteps<kATransposed, kBTransposed>(
//       steps, IsWarpNeeded(rows, columns),
//       [&](int64_t step, const MultiplyStage<kATransposed, kBTransposed>& stage) {
//         CopyPart<true>(stage.a, a, row, step * kMultiplyTileK);
//         CopyPart<true>(stage.b, b, step * kMultiplyTileK, column);
//       },
//       sums);
//   ForEachPairOfSums(sums, rows, columns, [&](float& left, float& right, int row, int column) {
//     ...
//   });
// A kernel has kMultiplyThreads threads in a block and kMultiplySharedBytes of dynamic shared
// memory.
//
// An element's sum begins with what `sums` holds and takes its terms in ascending order, 16 at a
// time. So its bits depend on its row of A and its column of B alone, and not on the tile.
#pragma once

#include "kernels/cuda/cuda_launch.cuh"
#include "kernels/cuda/cuda_numbers.cuh"
#include "kernels/cuda/mma.cuh"
#include "kernels/cuda/shared_tile.cuh"

namespace horizon {

inline constexpr int kMultiplyThreads = 256;
inline constexpr int kMultiplyTileM = 128;
inline constexpr int kMultiplyTileN = 128;
inline constexpr int kMultiplyTileK = 32;
inline constexpr int kMultiplyStages = 3;
inline constexpr int kMultiplySharedBytes = 49152;
static_assert(kMultiplySharedBytes ==
              kMultiplyStages * (kMultiplyTileM + kMultiplyTileN) * kMultiplyTileK * 2);

// Tiles of this many rows of tiles are computed at about the same time, so that the parts of A and
// B that they share are found in the L2 cache.
inline constexpr int64_t kRowsOfTiles = 16;

// The part of a warp: two warps one above the other, four side by side. It is made of multiplies
// of kMmaM x kMmaN x kMmaK.
inline constexpr int kWarpM = 64;
inline constexpr int kWarpN = 32;
inline constexpr int kMmaM = 16;
inline constexpr int kMmaN = 8;
inline constexpr int kMmaK = 16;
inline constexpr int kRowsOfMma = kWarpM / kMmaM;
inline constexpr int kColumnsOfMma = kWarpN / kMmaN;
inline constexpr int kWarpsAcross = kMultiplyTileN / kWarpN;
static_assert(kMultiplyThreads / 32 == kMultiplyTileM / kWarpM * kWarpsAcross);

using MultiplySums = FragmentC[kRowsOfMma][kColumnsOfMma];

__host__ __device__ constexpr int64_t Tiles(int64_t size, int tile) {
  return (size + tile - 1) / tile;
}

// Of `size` rows or columns, how many lie in a tile that begins at `first`.
__device__ __forceinline__ int InsideTile(int64_t size, int64_t first, int tile) {
  return static_cast<int>(min(int64_t{tile}, size - first));
}

// Which tile of C a thread block computes. Blocks are numbered so that those of kRowsOfTiles rows
// of tiles follow each other.
struct TilePlace {
  int64_t row;  // in tiles
  int64_t column;
};
__device__ __forceinline__ TilePlace PlaceOfBlock(int64_t tiles_m, int64_t tiles_n) {
  const int64_t group = blockIdx.x / (kRowsOfTiles * tiles_n);
  const int64_t in_group = blockIdx.x % (kRowsOfTiles * tiles_n);
  const int64_t rows = min(kRowsOfTiles, tiles_m - group * kRowsOfTiles);
  return {group * kRowsOfTiles + in_group % rows, in_group / rows};
}

// The first row and column of the running warp's part of the tile.
__device__ __forceinline__ int WarpRow() {
  return static_cast<int>(threadIdx.x) / 32 / kWarpsAcross * kWarpM;
}
__device__ __forceinline__ int WarpColumn() {
  return static_cast<int>(threadIdx.x) / 32 % kWarpsAcross * kWarpN;
}

// Whether the running warp has a part of the first `rows` rows and `columns` columns of the tile.
__device__ __forceinline__ bool IsWarpNeeded(int rows, int columns) {
  return WarpRow() < rows && WarpColumn() < columns;
}

// The parts of A and B of one step in shared memory, as the operands are stored.
template <bool kATransposed, bool kBTransposed>
struct MultiplyStage {
  using TileA = SharedTile<kATransposed ? kMultiplyTileK : kMultiplyTileM,
                           kATransposed ? kMultiplyTileM : kMultiplyTileK>;
  using TileB = SharedTile<kBTransposed ? kMultiplyTileN : kMultiplyTileK,
                           kBTransposed ? kMultiplyTileK : kMultiplyTileN>;
  static constexpr uint32_t kBytes = TileA::kBytes + TileB::kBytes;

  TileA a;
  TileB b;

  __device__ __forceinline__ explicit MultiplyStage(int stage)
      : a{static_cast<uint32_t>(stage) * kBytes},
        b{static_cast<uint32_t>(stage) * kBytes + TileA::kBytes} {}
};

// Which vectors of eight elements of a tile the running thread copies: kVectors of them, row(i) and
// column() of the i-th.
template <int kRows, int kColumns>
struct CopiedVectors {
  static constexpr int kPerRow = SharedTile<kRows, kColumns>::kVectors;
  static constexpr int kVectors = kRows * kPerRow / kMultiplyThreads;
  static constexpr int kRowsAtOnce = kMultiplyThreads / kPerRow;
  static_assert(kVectors * kMultiplyThreads == kRows * kPerRow && kRowsAtOnce * kVectors == kRows);

  __device__ __forceinline__ static int row(int i) {
    return i * kRowsAtOnce + static_cast<int>(threadIdx.x) / kPerRow;
  }
  __device__ __forceinline__ static int column() {
    return static_cast<int>(threadIdx.x) % kPerRow * kBf16PerVector;
  }
};

// A or B as stored.
struct Operand {
  const uint16_t* data;
  int64_t stride;
  int64_t rows;
  int64_t columns;
};

// Begins to copy the part of the operand from (first_row, first_column) on into the tile; what is
// outside the operand becomes zero. Without kAligned it copies element by element, before it
// returns.
template <bool kAligned, int kRows, int kColumns>
__device__ __forceinline__ void CopyPart(const SharedTile<kRows, kColumns>& tile,
                                         const Operand& operand, int64_t first_row,
                                         int64_t first_column) {
  using Copied = CopiedVectors<kRows, kColumns>;
#pragma unroll
  for (int i = 0; i < Copied::kVectors; ++i) {
    const int row = Copied::row(i);
    const int column = Copied::column();
    const int64_t count =
        first_row + row < operand.rows ? operand.columns - (first_column + column) : 0;
    const uint16_t* from =
        count > 0 ? operand.data + (first_row + row) * operand.stride + first_column + column
                  : operand.data;
    if constexpr (kAligned) {
      tile.CopyVector(row, column, from, count);
    } else {
      Vector<uint16_t, kBf16PerVector> elements = {};
#pragma unroll
      for (int j = 0; j < kBf16PerVector; ++j) {
        if (j < count) elements[j] = from[j];
      }
      StoreShared(tile.Place(row, column), elements);
    }
  }
}

// Adds the product of the parts in shared memory to the running warp's sums.
template <bool kATransposed, bool kBTransposed>
__device__ __forceinline__ void MultiplyStep(const MultiplyStage<kATransposed, kBTransposed>& stage,
                                             MultiplySums& sums) {
#pragma unroll
  for (int k = 0; k < kMultiplyTileK; k += kMmaK) {
    FragmentA of_a[kRowsOfMma];
    FragmentB of_b[kColumnsOfMma / 2][2];
#pragma unroll
    for (int i = 0; i < kRowsOfMma; ++i) {
      const int row = WarpRow() + i * kMmaM;
      of_a[i] = kATransposed ? stage.a.LoadTransposedA(k, row) : stage.a.LoadA(row, k);
    }
#pragma unroll
    for (int j = 0; j < kColumnsOfMma / 2; ++j) {
      const int column = WarpColumn() + j * 2 * kMmaN;
      if constexpr (kBTransposed) {
        stage.b.LoadTransposedB(column, k, of_b[j]);
      } else {
        stage.b.LoadB(k, column, of_b[j]);
      }
    }
#pragma unroll
    for (int i = 0; i < kRowsOfMma; ++i) {
#pragma unroll
      for (int j = 0; j < kColumnsOfMma; ++j) {
        MultiplyAdd(sums[i][j], of_a[i], of_b[j / 2][j % 2]);
      }
    }
  }
}

// Adds the products of all steps to the sums. copy(step, stage) begins the copies of a step into
// the stage; it is called once for each step, in ascending order, by all threads. A warp that is
// not needed (IsWarpNeeded) only copies.
template <bool kATransposed, bool kBTransposed, typename Copy>
__device__ __forceinline__ void MultiplySteps(int64_t steps, bool is_needed, const Copy& copy,
                                              MultiplySums& sums) {
  using Stage = MultiplyStage<kATransposed, kBTransposed>;
  const auto copy_step = [&](int64_t step, int stage) {
    if (step < steps) copy(step, Stage(stage));
    CommitCopies();  // without copies too, so that the groups can be counted
  };
#pragma unroll
  for (int stage = 0; stage < kMultiplyStages - 1; ++stage) copy_step(stage, stage);
  int stage = 0;
  for (int64_t step = 0; step < steps; ++step) {
    WaitForCopies<kMultiplyStages - 2>();
    // All warps see what all threads copied for this step, and have read the step before.
    __syncthreads();
    const int before = stage == 0 ? kMultiplyStages - 1 : stage - 1;
    copy_step(step + kMultiplyStages - 1, before);
    if (is_needed) MultiplyStep(Stage(stage), sums);
    stage = stage == kMultiplyStages - 1 ? 0 : stage + 1;
  }
}

// Calls use(left, right, row, column) for the sums of each two neighbours of a row that this thread
// holds, the left one in an even column. Rows and columns count from the begin of the tile, of
// which the first `rows` rows and `columns` columns exist; if columns is odd, the last right one
// does not.
template <typename Use>
__device__ __forceinline__ void ForEachPairOfSums(MultiplySums& sums, int rows, int columns,
                                                  const Use& use) {
#pragma unroll
  for (int i = 0; i < kRowsOfMma; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = WarpRow() + i * kMmaM + half * 8 + FragmentRow();
      if (row >= rows) continue;
#pragma unroll
      for (int j = 0; j < kColumnsOfMma; ++j) {
        const int column = WarpColumn() + j * kMmaN + FragmentColumn();
        if (column >= columns) continue;
        use(sums[i][j].values[half * 2], sums[i][j].values[half * 2 + 1], row, column);
      }
    }
  }
}

}  // namespace horizon
