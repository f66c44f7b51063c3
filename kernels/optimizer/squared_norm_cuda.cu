#include "kernels/cuda/cuda_launch.cuh"
#include "kernels/cuda/cuda_reduce.cuh"
#include "kernels/cuda/cuda_thread_elements.cuh"
#include "kernels/optimizer/squared_norm_launch.h"

namespace horizon {
namespace {

constexpr int kThreads = 128;
constexpr int kLogicalLanes = 16;  // as squared_norm.h says
constexpr int64_t kPartialsPerThreadBlock = kThreads / kLogicalLanes;

// Half a warp handles a partial sum, and each thread one of its logical lanes, so the order is that
// of the host kernel. Squares of fp32 numbers are exact in fp64, so a fused sum is rounded as on
// the host. The loop over norm blocks ends for all threads of a thread block at once, because
// shuffles need whole warps.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    SumSquares(const T* values, int64_t count, int64_t block, double* partials) {
  const int logical_lane = threadIdx.x % kLogicalLanes;
  const int64_t partial_count = (count + block - 1) / block;
  for (int64_t first = int64_t{blockIdx.x} * kPartialsPerThreadBlock; first < partial_count;
       first += int64_t{gridDim.x} * kPartialsPerThreadBlock) {
    const int64_t partial = first + threadIdx.x / kLogicalLanes;
    const int64_t begin = partial * block;
    const int64_t end = begin + block < count ? begin + block : count;
    double sum = 0.0;
#pragma unroll 8
    for (int64_t i = begin + logical_lane; i < end; i += kLogicalLanes) {
      const double value = FloatOf(values[i]);
      sum = __fma_rn(value, value, sum);
    }
    double total = __shfl_sync(kWholeWarp, sum, 0, kLogicalLanes);
#pragma unroll
    for (int other = 1; other < kLogicalLanes; ++other) {
      total = __dadd_rn(total, __shfl_sync(kWholeWarp, sum, other, kLogicalLanes));
    }
    if (logical_lane == 0 && partial < partial_count) partials[partial] = total;
  }
}

}  // namespace

CudaResult LaunchSquaredNorm(const SquaredNormLaunch& blocks, CUstream_st* stream) {
  const int64_t partials = (blocks.count + blocks.block - 1) / blocks.block;
  const LaunchShape shape{ThreadBlocksFor(partials, kPartialsPerThreadBlock), kThreads};
  if (blocks.fp32 != nullptr) {
    return Launch(SumSquares<float>, shape, stream, blocks.fp32, blocks.count, blocks.block,
                  blocks.partials);
  }
  return Launch(SumSquares<uint16_t>, shape, stream, blocks.bf16, blocks.count, blocks.block,
                blocks.partials);
}

}  // namespace horizon
