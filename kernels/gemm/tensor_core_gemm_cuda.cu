#include "kernels/cuda/cuda_launch.cuh"
#include "kernels/cuda/cuda_numbers.cuh"
#include "kernels/cuda/multiply_tile.cuh"
#include "kernels/gemm/tensor_core_gemm_launch.h"

namespace horizon {
namespace {

static_assert(kTensorCoreTileM == kMultiplyTileM && kTensorCoreTileN == kMultiplyTileN);

// Calls use(sum, row, column) for each element of C that this thread holds and that exists.
template <typename Use>
__device__ __forceinline__ void ForEachSum(const TensorCoreGemmLaunch& args, MultiplySums& sums,
                                           int64_t first_row, int64_t first_column,
                                           const Use& use) {
  const int rows = InsideTile(args.m, first_row, kMultiplyTileM);
  const int columns = InsideTile(args.n, first_column, kMultiplyTileN);
  ForEachPairOfSums(sums, rows, columns, [&](float& left, float& right, int row, int column) {
    use(left, first_row + row, first_column + column);
    if (column + 1 < columns) use(right, first_row + row, first_column + column + 1);
  });
}

template <typename T>
__device__ __forceinline__ void LoadInitial(const TensorCoreGemmLaunch& args, MultiplySums& sums,
                                            int64_t row, int64_t column) {
  const T* initial = static_cast<const T*>(args.initial);
  ForEachSum(args, sums, row, column, [&](float& sum, int64_t i, int64_t j) {
    sum = FloatOf(initial[i * args.c_stride + j]);
  });
}

template <typename T>
__device__ __forceinline__ void StoreSums(const TensorCoreGemmLaunch& args, MultiplySums& sums,
                                          int64_t row, int64_t column) {
  T* c = static_cast<T*>(args.c);
  ForEachSum(args, sums, row, column, [&](float& sum, int64_t i, int64_t j) {
    const float bias = args.bias == nullptr ? 0.0f : FloatOf(args.bias[j]);
    c[i * args.c_stride + j] = FromFloat<T>(args.bias == nullptr ? sum : __fadd_rn(sum, bias));
  });
}

template <bool kATransposed, bool kBTransposed, bool kAligned>
__global__ void __launch_bounds__(kMultiplyThreads, 2) MultiplyTiles(TensorCoreGemmLaunch args) {
  const TilePlace tile = PlaceOfBlock(Tiles(args.m, kMultiplyTileM), Tiles(args.n, kMultiplyTileN));
  const int64_t tile_row = tile.row * kMultiplyTileM;
  const int64_t tile_column = tile.column * kMultiplyTileN;
  const Operand a = {args.a, args.a_stride, kATransposed ? args.k : args.m,
                     kATransposed ? args.m : args.k};
  const Operand b = {args.b, args.b_stride, kBTransposed ? args.n : args.k,
                     kBTransposed ? args.k : args.n};

  MultiplySums sums = {};
  if (args.initial != nullptr) {
    if (args.c_is_bf16) {
      LoadInitial<uint16_t>(args, sums, tile_row, tile_column);
    } else {
      LoadInitial<float>(args, sums, tile_row, tile_column);
    }
  }
  MultiplySteps<kATransposed, kBTransposed>(
      Tiles(args.k, kMultiplyTileK),
      IsWarpNeeded(InsideTile(args.m, tile_row, kMultiplyTileM),
                   InsideTile(args.n, tile_column, kMultiplyTileN)),
      [&](int64_t step, const MultiplyStage<kATransposed, kBTransposed>& stage) {
        const int64_t k = step * kMultiplyTileK;
        CopyPart<kAligned>(stage.a, a, kATransposed ? k : tile_row, kATransposed ? tile_row : k);
        CopyPart<kAligned>(stage.b, b, kBTransposed ? tile_column : k,
                           kBTransposed ? k : tile_column);
      },
      sums);
  if (args.c_is_bf16) {
    StoreSums<uint16_t>(args, sums, tile_row, tile_column);
  } else {
    StoreSums<float>(args, sums, tile_row, tile_column);
  }
}

template <bool kATransposed, bool kBTransposed>
CudaResult LaunchForm(const TensorCoreGemmLaunch& args, CUstream_st* stream) {
  const LaunchShape shape{static_cast<unsigned>(TensorCoreGemmBlocks(args.m, args.n)),
                          kMultiplyThreads, kMultiplySharedBytes};
  const bool is_aligned =
      IsVectorAligned<kBf16PerVector>(args.a) && IsVectorAligned<kBf16PerVector>(args.b) &&
      args.a_stride % kBf16PerVector == 0 && args.b_stride % kBf16PerVector == 0;
  return is_aligned ? Launch(MultiplyTiles<kATransposed, kBTransposed, true>, shape, stream, args)
                    : Launch(MultiplyTiles<kATransposed, kBTransposed, false>, shape, stream, args);
}

}  // namespace

CudaResult LaunchTensorCoreGemm(const TensorCoreGemmLaunch& args, CUstream_st* stream) {
  const CudaResult checked = CheckTensorCoresForBf16();
  if (checked.code != 0) return checked;
  if (args.a_transposed) return LaunchForm<true, false>(args, stream);
  if (args.b_transposed) return LaunchForm<false, true>(args, stream);
  return LaunchForm<false, false>(args, stream);
}

}  // namespace horizon
