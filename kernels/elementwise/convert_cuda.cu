#include "kernels/cuda/cuda_gradient.cuh"
#include "kernels/cuda/cuda_launch.cuh"
#include "kernels/elementwise/convert_launch.h"

namespace horizon {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kElementsPerThreadBlock = kThreads * kElementsPerThread;

// `sum` may be the gradient's own.
__global__ void __launch_bounds__(kThreads)
    StoreSums(const float* sum, int64_t count, GradientOut gradient, bool aligned) {
  const int64_t stride = int64_t{gridDim.x} * kElementsPerThreadBlock;
  for (int64_t i = int64_t{blockIdx.x} * kElementsPerThreadBlock + threadIdx.x * kElementsPerThread;
       i < count; i += stride) {
    const bool whole = aligned && i + kElementsPerThread <= count;
    StoreGradientElements(gradient, i, LoadElements(sum + i, count - i, whole), count - i, whole);
  }
}

template <typename From, typename To>
__global__ void __launch_bounds__(kThreads)
    AddToKept(const From* gradient, To* kept, int64_t count, bool add, bool aligned) {
  const int64_t stride = int64_t{gridDim.x} * kElementsPerThreadBlock;
  for (int64_t i = int64_t{blockIdx.x} * kElementsPerThreadBlock + threadIdx.x * kElementsPerThread;
       i < count; i += stride) {
    const bool whole = aligned && i + kElementsPerThread <= count;
    ThreadElements<float> sum = LoadAsFloat(gradient + i, count - i, whole);
    if (add) {
      const ThreadElements<float> before = LoadAsFloat(kept + i, count - i, whole);
#pragma unroll
      for (int j = 0; j < kElementsPerThread; ++j) sum[j] = __fadd_rn(before[j], sum[j]);
    }
    StoreFromFloat(kept + i, sum, count - i, whole);
  }
}

template <typename From, typename To>
CudaResult LaunchAdd(const From* gradient, To* kept, const AccumulateLaunch& args,
                     CUstream_st* stream) {
  const bool aligned = IsAlignedForVectors(gradient) && IsAlignedForVectors(kept);
  return Launch(AddToKept<From, To>,
                LaunchShape{ThreadBlocksFor(args.count, kElementsPerThreadBlock), kThreads}, stream,
                gradient, kept, args.count, args.add, aligned);
}

}  // namespace

CudaResult LaunchAccumulate(const AccumulateLaunch& args, CUstream_st* stream) {
  if (args.gradient_fp32 != nullptr && args.kept_fp32 != nullptr) {
    return LaunchAdd(args.gradient_fp32, args.kept_fp32, args, stream);
  }
  if (args.gradient_fp32 != nullptr) {
    return LaunchAdd(args.gradient_fp32, args.kept_bf16, args, stream);
  }
  if (args.kept_fp32 != nullptr) return LaunchAdd(args.gradient_bf16, args.kept_fp32, args, stream);
  return LaunchAdd(args.gradient_bf16, args.kept_bf16, args, stream);
}

CudaResult LaunchStoreGradient(const float* sum, int64_t count, const GradientOut& gradient,
                               CUstream_st* stream) {
  const bool aligned = IsAlignedForVectors(sum) && IsAlignedForVectors(gradient);
  return Launch(StoreSums, LaunchShape{ThreadBlocksFor(count, kElementsPerThreadBlock), kThreads},
                stream, sum, count, gradient, aligned);
}

CudaResult LaunchCopyBytes(const void* from, void* to, int64_t bytes, CUstream_st* stream) {
  return ToResult(
      cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDeviceToDevice, stream));
}

}  // namespace horizon
