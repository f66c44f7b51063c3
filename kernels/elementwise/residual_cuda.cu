#include "kernels/cuda/cuda_launch.cuh"
#include "kernels/cuda/cuda_thread_elements.cuh"
#include "kernels/elementwise/residual_launch.h"

namespace horizon {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kElementsPerThreadBlock = kThreads * kElementsPerThread;

template <typename Branch>
__global__ void __launch_bounds__(kThreads)
    AddBranch(ResidualAddLaunch args, const Branch* branch, bool aligned) {
  const int64_t stride = int64_t{gridDim.x} * kElementsPerThreadBlock;
  for (int64_t i = int64_t{blockIdx.x} * kElementsPerThreadBlock + threadIdx.x * kElementsPerThread;
       i < args.count; i += stride) {
    const int64_t count = args.count - i;
    const bool whole = aligned && count >= kElementsPerThread;
    ThreadElements<float> sum = LoadAsFloat(branch + i, count, whole);
#pragma unroll
    for (int j = 0; j < kElementsPerThread; ++j) sum[j] = __fmul_rn(args.scale, sum[j]);
    if (args.residual != nullptr) {
      const ThreadElements<float> residual = LoadAsFloat(args.residual + i, count, whole);
#pragma unroll
      for (int j = 0; j < kElementsPerThread; ++j) sum[j] = __fadd_rn(residual[j], sum[j]);
    }
    StoreFromFloat(args.output + i, sum, count, whole);
  }
}

template <typename Branch>
CudaResult LaunchAdd(const ResidualAddLaunch& args, const Branch* branch, CUstream_st* stream) {
  const bool aligned = IsAlignedForVectors(args.residual) && IsAlignedForVectors(branch) &&
                       IsAlignedForVectors(args.output);
  return Launch(AddBranch<Branch>,
                LaunchShape{ThreadBlocksFor(args.count, kElementsPerThreadBlock), kThreads}, stream,
                args, branch, aligned);
}

}  // namespace

CudaResult LaunchResidualAdd(const ResidualAddLaunch& args, CUstream_st* stream) {
  if (args.branch_fp32 != nullptr) return LaunchAdd(args, args.branch_fp32, stream);
  return LaunchAdd(args, args.branch_bf16, stream);
}

}  // namespace horizon
