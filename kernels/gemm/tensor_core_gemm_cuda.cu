// A thread block multiplies a tile of C, in steps of kTileK of the sum. Three steps' parts of A and
// B lie in shared memory: while one is multiplied, the next two are on their way. Each of the eight
// warps has a part of the tile in its registers.
#include "kernels/cuda/cuda_launch.cuh"
#include "kernels/cuda/cuda_numbers.cuh"
#include "kernels/cuda/mma.cuh"
#include "kernels/cuda/shared_tile.cuh"
#include "kernels/gemm/tensor_core_gemm_launch.h"

namespace horizon {
namespace {

constexpr int kThreads = 256;
constexpr int kTileM = kTensorCoreTileM;
constexpr int kTileN = kTensorCoreTileN;
constexpr int kTileK = 32;
constexpr int kStages = 3;
constexpr int kSharedBytes = 49152;
static_assert(kSharedBytes == kStages * (kTileM + kTileN) * kTileK * 2);

// The part of a warp: two warps one above the other, four side by side. It is made of multiplies
// of kMmaM x kMmaN x kMmaK.
constexpr int kWarpM = 64;
constexpr int kWarpN = 32;
constexpr int kMmaM = 16;
constexpr int kMmaN = 8;
constexpr int kMmaK = 16;
constexpr int kRowsOfMma = kWarpM / kMmaM;
constexpr int kColumnsOfMma = kWarpN / kMmaN;
constexpr int kWarpsAcross = kTileN / kWarpN;
static_assert(kThreads / 32 == kTileM / kWarpM * kWarpsAcross);

// Tiles of this many rows of tiles are computed at about the same time, so that the parts of A and
// B that they share are found in the L2 cache.
constexpr int64_t kRowsOfTiles = 16;

using Sums = FragmentC[kRowsOfMma][kColumnsOfMma];

__host__ __device__ constexpr int64_t Tiles(int64_t size, int tile) {
  return (size + tile - 1) / tile;
}

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
  constexpr int kVectors = SharedTile<kRows, kColumns>::kVectors;
  static_assert(kRows * kVectors % kThreads == 0);
#pragma unroll
  for (int i = 0; i < kRows * kVectors / kThreads; ++i) {
    const int vector = i * kThreads + static_cast<int>(threadIdx.x);
    const int row = vector / kVectors;
    const int column = vector % kVectors * kBf16PerVector;
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

// Calls use(sum, row, column, which) for each element of C that this thread holds and that exists.
template <typename Use>
__device__ __forceinline__ void ForEachSum(Sums& sums, int64_t m, int64_t n, int64_t first_row,
                                           int64_t first_column, const Use& use) {
#pragma unroll
  for (int i = 0; i < kRowsOfMma; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int64_t row = first_row + i * kMmaM + half * 8 + FragmentRow();
      if (row >= m) continue;
#pragma unroll
      for (int j = 0; j < kColumnsOfMma; ++j) {
        const int64_t column = first_column + j * kMmaN + FragmentColumn();
        if (column < n) use(sums[i][j].values[half * 2], row, column);
        if (column + 1 < n) use(sums[i][j].values[half * 2 + 1], row, column + 1);
      }
    }
  }
}

template <typename T>
__device__ __forceinline__ void LoadInitial(const TensorCoreGemmLaunch& args, Sums& sums,
                                            int64_t row, int64_t column) {
  const T* initial = static_cast<const T*>(args.initial);
  ForEachSum(sums, args.m, args.n, row, column, [&](float& sum, int64_t i, int64_t j) {
    sum = FloatOf(initial[i * args.c_stride + j]);
  });
}

template <typename T>
__device__ __forceinline__ void StoreSums(const TensorCoreGemmLaunch& args, Sums& sums, int64_t row,
                                          int64_t column) {
  T* c = static_cast<T*>(args.c);
  ForEachSum(sums, args.m, args.n, row, column, [&](float& sum, int64_t i, int64_t j) {
    const float bias = args.bias == nullptr ? 0.0f : FloatOf(args.bias[j]);
    c[i * args.c_stride + j] = FromFloat<T>(args.bias == nullptr ? sum : __fadd_rn(sum, bias));
  });
}

template <bool kATransposed, bool kBTransposed, bool kAligned>
__global__ void __launch_bounds__(kThreads, 2) MultiplyTiles(TensorCoreGemmLaunch args) {
  using TileA = SharedTile<kATransposed ? kTileK : kTileM, kATransposed ? kTileM : kTileK>;
  using TileB = SharedTile<kBTransposed ? kTileN : kTileK, kBTransposed ? kTileK : kTileN>;
  constexpr uint32_t kStageBytes = TileA::kBytes + TileB::kBytes;
  const int64_t tiles_m = Tiles(args.m, kTileM);
  const int64_t tiles_n = Tiles(args.n, kTileN);
  const int64_t group = blockIdx.x / (kRowsOfTiles * tiles_n);
  const int64_t in_group = blockIdx.x % (kRowsOfTiles * tiles_n);
  const int64_t rows = min(kRowsOfTiles, tiles_m - group * kRowsOfTiles);
  const int64_t tile_row = (group * kRowsOfTiles + in_group % rows) * kTileM;
  const int64_t tile_column = in_group / rows * kTileN;

  const Operand a = {args.a, args.a_stride, kATransposed ? args.k : args.m,
                     kATransposed ? args.m : args.k};
  const Operand b = {args.b, args.b_stride, kBTransposed ? args.n : args.k,
                     kBTransposed ? args.k : args.n};
  const auto stage_a = [](int stage) { return TileA{static_cast<uint32_t>(stage) * kStageBytes}; };
  const auto stage_b = [](int stage) {
    return TileB{static_cast<uint32_t>(stage) * kStageBytes + TileA::kBytes};
  };
  const int64_t steps = Tiles(args.k, kTileK);
  const auto copy_step = [&](int64_t step, int stage) {
    if (step < steps) {
      const int64_t k = step * kTileK;
      CopyPart<kAligned>(stage_a(stage), a, kATransposed ? k : tile_row,
                         kATransposed ? tile_row : k);
      CopyPart<kAligned>(stage_b(stage), b, kBTransposed ? tile_column : k,
                         kBTransposed ? k : tile_column);
    }
    CommitCopies();  // without copies too, so that the groups can be counted
  };

  const int warp = static_cast<int>(threadIdx.x / 32);
  const int warp_row = warp / kWarpsAcross * kWarpM;
  const int warp_column = warp % kWarpsAcross * kWarpN;
  Sums sums = {};
  if (args.initial != nullptr) {
    if (args.c_is_bf16) {
      LoadInitial<uint16_t>(args, sums, tile_row + warp_row, tile_column + warp_column);
    } else {
      LoadInitial<float>(args, sums, tile_row + warp_row, tile_column + warp_column);
    }
  }

#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) copy_step(stage, stage);
  int stage = 0;
  for (int64_t step = 0; step < steps; ++step) {
    WaitForCopies<kStages - 2>();
    // All warps see what all threads copied for this step, and have read the step before.
    __syncthreads();
    const int before = stage == 0 ? kStages - 1 : stage - 1;
    copy_step(step + kStages - 1, before);
    const TileA tile_a = stage_a(stage);
    const TileB tile_b = stage_b(stage);
#pragma unroll
    for (int k = 0; k < kTileK; k += kMmaK) {
      FragmentA of_a[kRowsOfMma];
      FragmentB of_b[kColumnsOfMma / 2][2];
#pragma unroll
      for (int i = 0; i < kRowsOfMma; ++i) {
        const int row = warp_row + i * kMmaM;
        of_a[i] = kATransposed ? tile_a.LoadTransposedA(k, row) : tile_a.LoadA(row, k);
      }
#pragma unroll
      for (int j = 0; j < kColumnsOfMma / 2; ++j) {
        const int column = warp_column + j * 2 * kMmaN;
        if constexpr (kBTransposed) {
          tile_b.LoadTransposedB(column, k, of_b[j]);
        } else {
          tile_b.LoadB(k, column, of_b[j]);
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
    stage = stage == kStages - 1 ? 0 : stage + 1;
  }

  if (args.c_is_bf16) {
    StoreSums<uint16_t>(args, sums, tile_row + warp_row, tile_column + warp_column);
  } else {
    StoreSums<float>(args, sums, tile_row + warp_row, tile_column + warp_column);
  }
}

template <bool kATransposed, bool kBTransposed>
CudaResult LaunchForm(const TensorCoreGemmLaunch& args, CUstream_st* stream) {
  const LaunchShape shape{static_cast<unsigned>(TensorCoreGemmBlocks(args.m, args.n)), kThreads,
                          kSharedBytes};
  const bool is_aligned =
      IsVectorAligned<kBf16PerVector>(args.a) && IsVectorAligned<kBf16PerVector>(args.b) &&
      args.a_stride % kBf16PerVector == 0 && args.b_stride % kBf16PerVector == 0;
  return is_aligned ? Launch(MultiplyTiles<kATransposed, kBTransposed, true>, shape, stream, args)
                    : Launch(MultiplyTiles<kATransposed, kBTransposed, false>, shape, stream, args);
}

}  // namespace

CudaResult LaunchTensorCoreGemm(const TensorCoreGemmLaunch& args, CUstream_st* stream) {
  // The kernel compiles for sm_75, where it stops at once: it has none of the instructions.
  if (!HasTensorCoresForBf16()) {
    return {static_cast<int>(cudaErrorNotSupported),
            "the tensor cores of a device below compute capability 8.0 do not multiply bf16"};
  }
  if (args.a_transposed) return LaunchForm<true, false>(args, stream);
  if (args.b_transposed) return LaunchForm<false, true>(args, stream);
  return LaunchForm<false, false>(args, stream);
}

}  // namespace horizon
