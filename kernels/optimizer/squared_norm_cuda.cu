#include "kernels/cuda/cuda_eight.cuh"
#include "kernels/cuda/cuda_launch.cuh"
#include "kernels/cuda/cuda_reduce.cuh"
#include "kernels/optimizer/squared_norm_launch.h"

namespace horizon {
namespace {

constexpr int kThreads = 128;
constexpr int kLanes = 16;  // of squared_norm.h
constexpr int64_t kPartialsOfBlock = kThreads / kLanes;

// Half a warp has a partial, a thread one of its logical lanes: so the order is the host's. Squares
// of fp32 numbers are exact in fp64, so a fused sum is rounded as the host's. The loop over blocks
// ends for all threads of a block at once, for shuffles are for whole warps.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    SumSquares(const T* values, int64_t count, int64_t block, double* partials) {
  const int lane = threadIdx.x % kLanes;
  const int64_t partial_count = (count + block - 1) / block;
  for (int64_t first = int64_t{blockIdx.x} * kPartialsOfBlock; first < partial_count;
       first += int64_t{gridDim.x} * kPartialsOfBlock) {
    const int64_t partial = first + threadIdx.x / kLanes;
    const int64_t begin = partial * block;
    const int64_t end = begin + block < count ? begin + block : count;
    double sum = 0.0;
#pragma unroll 8
    for (int64_t i = begin + lane; i < end; i += kLanes) {
      const double value = FloatOf(values[i]);
      sum = __fma_rn(value, value, sum);
    }
    double total = __shfl_sync(kWholeWarp, sum, 0, kLanes);
#pragma unroll
    for (int other = 1; other < kLanes; ++other) {
      total = __dadd_rn(total, __shfl_sync(kWholeWarp, sum, other, kLanes));
    }
    if (lane == 0 && partial < partial_count) partials[partial] = total;
  }
}

}  // namespace

CudaResult LaunchSquaredNorm(const SquaredBlocks& blocks, CUstream_st* stream) {
  const int64_t partials = (blocks.count + blocks.block - 1) / blocks.block;
  const LaunchShape shape{BlocksFor(partials, kPartialsOfBlock), kThreads};
  if (blocks.fp32 != nullptr) {
    return Launch(SumSquares<float>, shape, stream, blocks.fp32, blocks.count, blocks.block,
                  blocks.partials);
  }
  return Launch(SumSquares<uint16_t>, shape, stream, blocks.bf16, blocks.count, blocks.block,
                blocks.partials);
}

}  // namespace horizon
