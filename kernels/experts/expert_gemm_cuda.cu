#include "kernels/cuda/cuda_gradient.cuh"
#include "kernels/cuda/cuda_launch.cuh"
#include "kernels/cuda/cuda_numbers.cuh"
#include "kernels/cuda/cuda_reduce.cuh"
#include "kernels/cuda/multiply_tile.cuh"
#include "kernels/experts/expert_gemm_launch.h"

namespace horizon {
namespace {

static_assert(kExpertTile == kMultiplyTileM && kExpertTile == kMultiplyTileN);

// The rows of one expert that a thread block multiplies: the expert, its first row in the tile, and
// the end of its rows.
using ExpertRows = Shared<int, 3>;

// Finds the rows, given the number of the tile among those of all experts (ExpertRowTiles): every
// thread looks at some of the experts. False if the tile is kept in vain. All threads of the block
// call this together.
__device__ __forceinline__ bool FindRows(const int32_t* begins, int experts, int64_t tile,
                                         ExpertRows& found) {
  const int first = begins[0];
  if (tile >= (begins[experts] - first) / kExpertTile + experts) return false;
  for (int expert = static_cast<int>(threadIdx.x); expert < experts; expert += kMultiplyThreads) {
    const int begin = begins[expert];
    const int end = begins[expert + 1];
    const int64_t first_tile = (begin - first) / kExpertTile + expert;
    const int64_t end_tile = (end - first) / kExpertTile + expert + 1;
    if (tile < first_tile || tile >= end_tile) continue;
    found[0] = expert;
    found[1] = begin + static_cast<int>(tile - first_tile) * kExpertTile;
    found[2] = end;
  }
  __syncthreads();
  return found[1] < found[2];
}

// The rows of a matrix that the running thread copies into a tile, as numbers of rows of the
// matrix; -1 where the rows have ended.
template <int kRows, int kColumns>
struct GatheredRows {
  using Copied = CopiedVectors<kRows, kColumns>;
  int of[Copied::kVectors];

  // The rows from `first` on of those that end at `end`. `numbers`: of the row of the matrix for
  // each; null: the same.
  __device__ __forceinline__ void Load(const int32_t* numbers, int64_t first, int end) {
#pragma unroll
    for (int i = 0; i < Copied::kVectors; ++i) {
      const int64_t row = first + Copied::row(i);
      of[i] = row >= end ? -1 : numbers == nullptr ? static_cast<int>(row) : numbers[row];
    }
  }

  // Begins to copy their columns from `first_column` on, of which the matrix has `columns`.
  __device__ __forceinline__ void Copy(const SharedTile<kRows, kColumns>& tile,
                                       const uint16_t* matrix, int64_t stride, int64_t columns,
                                       int64_t first_column) const {
    const int column = Copied::column();
    const int64_t inside = columns - (first_column + column);
#pragma unroll
    for (int i = 0; i < Copied::kVectors; ++i) {
      const int64_t count = of[i] < 0 ? 0 : inside;
      const uint16_t* from = count > 0 ? matrix + of[i] * stride + first_column + column : matrix;
      tile.CopyVector(Copied::row(i), column, from, count);
    }
  }
};

// What thread blocks find is read again behind the multiplies, which need all registers.
template <bool kBTransposed>
__global__ void __launch_bounds__(kMultiplyThreads, 2)
    MultiplyExperts(ExpertGemmLaunch args, int64_t row_tiles) {
  using Stage = MultiplyStage<false, kBTransposed>;
  __shared__ Shared<int, 3> found;
  const TilePlace tile = PlaceOfBlock(row_tiles, Tiles(args.n, kExpertTile));
  if (!FindRows(args.begins, args.experts, tile.row, found)) return;
  const int64_t first_column = tile.column * kExpertTile;
  const int columns = InsideTile(args.n, first_column, kExpertTile);

  GatheredRows<kMultiplyTileM, kMultiplyTileK> a_rows;
  a_rows.Load(args.a_rows, found[1], found[2]);
  const Operand b = {args.b + found[0] * args.b_expert_stride, args.b_stride,
                     kBTransposed ? args.n : args.k, kBTransposed ? args.k : args.n};
  MultiplySums sums = {};
  MultiplySteps<false, kBTransposed>(
      Tiles(args.k, kMultiplyTileK), IsWarpNeeded(found[2] - found[1], columns),
      [&](int64_t step, const Stage& stage) {
        const int64_t k = step * kMultiplyTileK;
        a_rows.Copy(stage.a, args.a, args.a_stride, args.k, k);
        CopyPart<true>(stage.b, b, kBTransposed ? first_column : k,
                       kBTransposed ? k : first_column);
      },
      sums);

  const int first_row = found[1];
  const int rows = min(kExpertTile, found[2] - first_row);
  const uint16_t* bias = args.bias == nullptr
                             ? nullptr
                             : args.bias + found[0] * args.bias_expert_stride + first_column;
  uint16_t* c = args.c + first_row * args.c_stride + first_column;
  ForEachPairOfSums(sums, rows, columns, [&](float left, float right, int row, int column) {
    const bool is_pair = column + 1 < columns;
    if (bias != nullptr) {
      const float scale =
          args.row_scales == nullptr ? 1.0f : args.row_scales[args.scale_pairs[first_row + row]];
      left = __fadd_rn(left, __fmul_rn(scale, FloatOf(bias[column])));
      if (is_pair) right = __fadd_rn(right, __fmul_rn(scale, FloatOf(bias[column + 1])));
    }
    uint16_t* to = c + row * args.c_stride + column;
    if (is_pair) {
      StoreVector<2>(to, Vector<uint16_t, 2>{{Bf16Of(left), Bf16Of(right)}});
    } else {
      *to = Bf16Of(left);
    }
  });
}

// A thread block computes a tile of the gradient of one expert's weights. The numbers of the rows
// that a step copies are loaded one step before.
__global__ void __launch_bounds__(kMultiplyThreads, 2)
    MultiplyExpertRows(ExpertWeightGradientLaunch args) {
  using Rows = GatheredRows<kMultiplyTileK, kExpertTile>;
  const int64_t tiles_m = Tiles(args.m, kExpertTile);
  const int64_t tiles = tiles_m * Tiles(args.n, kExpertTile);
  const int64_t expert = blockIdx.x / tiles;
  const int64_t first_row = blockIdx.x % tiles % tiles_m * kExpertTile;
  const int64_t first_column = blockIdx.x % tiles / tiles_m * kExpertTile;
  const int rows = InsideTile(args.m, first_row, kExpertTile);
  const int columns = InsideTile(args.n, first_column, kExpertTile);
  const int begin = args.begins[expert];
  const int end = args.begins[expert + 1];

  Rows a_rows;
  Rows b_rows;
  a_rows.Load(args.a_rows, begin, end);
  b_rows.Load(args.b_rows, begin, end);
  MultiplySums sums = {};
  MultiplySteps<true, false>(
      Tiles(end - begin, kMultiplyTileK), IsWarpNeeded(rows, columns),
      [&](int64_t step, const MultiplyStage<true, false>& stage) {
        a_rows.Copy(stage.a, args.a, args.a_stride, args.m, first_row);
        b_rows.Copy(stage.b, args.b, args.b_stride, args.n, first_column);
        const int64_t next = begin + (step + 1) * kMultiplyTileK;
        a_rows.Load(args.a_rows, next, end);
        b_rows.Load(args.b_rows, next, end);
      },
      sums);

  const int64_t first = expert * args.gradient_expert_stride + first_row * args.n + first_column;
  ForEachPairOfSums(sums, rows, columns, [&](float left, float right, int row, int column) {
    StoreGradientPair(args.gradient, first + row * args.n + column, left, right);
  });
}

constexpr int kBiasThreads = 256;
constexpr int kBiasWarps = kBiasThreads / static_cast<int>(kWarpThreads);
constexpr int kBiasTileRows = 64;
static_assert(kExpertBiasColumns == static_cast<int>(kWarpThreads) * kElementsPerThread &&
              kExpertBiasColumns == kBiasThreads);

// The terms that a row adds to eight columns of the gradient of its expert's bias.
__device__ __forceinline__ ThreadElements<float> BiasTerms(const ExpertBiasGradientLaunch& args,
                                                           int row, int64_t column, int64_t count,
                                                           bool whole) {
  const int64_t from = args.rows == nullptr ? row : args.rows[row];
  ThreadElements<float> terms =
      LoadAsFloat(args.output_gradient + from * args.output_stride + column, count, whole);
  if (args.row_scales != nullptr) {
    const float scale = args.row_scales[args.scale_pairs[row]];
#pragma unroll
    for (int j = 0; j < kElementsPerThread; ++j) terms[j] = __fmul_rn(scale, terms[j]);
  }
  return terms;
}

// A thread block sums kExpertBiasColumns columns of one expert. Each warp adds the rows of a tile,
// eight columns a lane, then each thread adds the tiles of one column in their order.
__global__ void __launch_bounds__(kBiasThreads, 4)
    SumExpertBiases(ExpertBiasGradientLaunch args, bool aligned) {
  __shared__ Shared<float, kBiasWarps * kExpertBiasColumns> of_tiles;
  const int64_t groups = Tiles(args.width, kExpertBiasColumns);
  const int64_t expert = blockIdx.x / groups;
  const int64_t first_column = blockIdx.x % groups * kExpertBiasColumns;
  const int begin = args.begins[expert];
  const int end = args.begins[expert + 1];
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / static_cast<int>(kWarpThreads);
  const int warp_lane = thread % static_cast<int>(kWarpThreads);
  const int64_t column = first_column + warp_lane * kElementsPerThread;
  const int64_t count = args.width - column;
  const bool whole = aligned && count >= kElementsPerThread;

  double total = 0.0;
  for (int tiles = begin; tiles < end; tiles += kBiasWarps * kBiasTileRows) {
    const int tile = tiles + warp * kBiasTileRows;
    if (tile < end && count > 0) {
      const int tile_end = min(tile + kBiasTileRows, end);
      ThreadElements<float> sum = {};
#pragma unroll 2
      for (int row = tile; row < tile_end; ++row) {
        const ThreadElements<float> terms = BiasTerms(args, row, column, count, whole);
#pragma unroll
        for (int j = 0; j < kElementsPerThread; ++j) sum[j] = __fadd_rn(sum[j], terms[j]);
      }
#pragma unroll
      for (int j = 0; j < kElementsPerThread; ++j) {
        of_tiles[warp * kExpertBiasColumns + j * static_cast<int>(kWarpThreads) + warp_lane] =
            sum[j];
      }
    }
    __syncthreads();
    // Column j of lane i is summed by thread j x 32 + i.
    if (first_column + warp_lane * kElementsPerThread + warp < args.width) {
      for (int i = 0; i < kBiasWarps && tiles + i * kBiasTileRows < end; ++i) {
        total = __dadd_rn(total, of_tiles[i * kExpertBiasColumns + thread]);
      }
    }
    __syncthreads();
  }
  const int64_t summed = first_column + warp_lane * kElementsPerThread + warp;
  if (summed < args.width) {
    StoreGradientValue(args.gradient, expert * args.gradient_expert_stride + summed,
                       static_cast<float>(total));
  }
}

}  // namespace

CudaResult LaunchExpertGemm(const ExpertGemmLaunch& args, CUstream_st* stream) {
  const CudaResult checked = CheckTensorCoresForBf16();
  if (checked.code != 0) return checked;
  const LaunchShape shape{
      static_cast<unsigned>(ExpertGemmBlocks(args.experts, args.most_rows, args.n)),
      kMultiplyThreads, kMultiplySharedBytes};
  return Launch(args.b_transposed ? MultiplyExperts<true> : MultiplyExperts<false>, shape, stream,
                args, ExpertRowTiles(args.experts, args.most_rows));
}

CudaResult LaunchExpertWeightGradient(const ExpertWeightGradientLaunch& args, CUstream_st* stream) {
  const CudaResult checked = CheckTensorCoresForBf16();
  if (checked.code != 0) return checked;
  const LaunchShape shape{
      static_cast<unsigned>(ExpertWeightGradientBlocks(args.experts, args.m, args.n)),
      kMultiplyThreads, kMultiplySharedBytes};
  return Launch(MultiplyExpertRows, shape, stream, args);
}

CudaResult LaunchExpertBiasGradient(const ExpertBiasGradientLaunch& args, CUstream_st* stream) {
  const bool aligned =
      args.output_stride % kElementsPerThread == 0 && IsAlignedForVectors(args.output_gradient);
  const LaunchShape shape{static_cast<unsigned>(ExpertBiasGradientBlocks(args.experts, args.width)),
                          kBiasThreads};
  return Launch(SumExpertBiases, shape, stream, args, aligned);
}

}  // namespace horizon
