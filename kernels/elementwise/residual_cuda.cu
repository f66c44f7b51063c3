#include "kernels/cuda/cuda_eight.cuh"
#include "kernels/cuda/cuda_launch.cuh"
#include "kernels/elementwise/residual_launch.h"

namespace horizon {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kElementsOfBlock = kThreads * 8;

template <typename Branch>
__global__ void __launch_bounds__(kThreads)
    AddBranch(ResidualLaunch args, const Branch* branch, bool aligned) {
  const int64_t stride = int64_t{gridDim.x} * kElementsOfBlock;
  for (int64_t i = int64_t{blockIdx.x} * kElementsOfBlock + threadIdx.x * 8; i < args.count;
       i += stride) {
    const int64_t count = args.count - i;
    const bool whole = aligned && count >= 8;
    Eight<float> sum = LoadNumbers(branch + i, count, whole);
#pragma unroll
    for (int j = 0; j < 8; ++j) sum[j] = __fmul_rn(args.scale, sum[j]);
    if (args.residual != nullptr) {
      const Eight<float> residual = LoadNumbers(args.residual + i, count, whole);
#pragma unroll
      for (int j = 0; j < 8; ++j) sum[j] = __fadd_rn(residual[j], sum[j]);
    }
    StoreNumbers(args.output + i, sum, count, whole);
  }
}

template <typename Branch>
CudaResult LaunchAdd(const ResidualLaunch& args, const Branch* branch, CUstream_st* stream) {
  const bool aligned =
      IsEightAligned(args.residual) && IsEightAligned(branch) && IsEightAligned(args.output);
  return Launch(AddBranch<Branch>, LaunchShape{BlocksFor(args.count, kElementsOfBlock), kThreads},
                stream, args, branch, aligned);
}

}  // namespace

CudaResult LaunchResidualAdd(const ResidualLaunch& args, CUstream_st* stream) {
  if (args.branch_fp32 != nullptr) return LaunchAdd(args, args.branch_fp32, stream);
  return LaunchAdd(args, args.branch_bf16, stream);
}

}  // namespace horizon
