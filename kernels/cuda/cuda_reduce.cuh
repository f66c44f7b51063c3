// Sums and maxima over the threads of a warp or of a thread block, in float or double. The order of
// the operations depends on the number of threads alone. All threads of the warp (thread block)
// must call the function together, and all of them get the same bits.
#pragma once

#include "kernels/cuda/cuda_launch.cuh"

namespace horizon {

inline constexpr unsigned kWarpThreads = 32;
// The shuffle mask of all lanes of a warp.
inline constexpr unsigned kWholeWarp = 0xFFFFFFFFu;

// A butterfly: warp lanes i and i ^ 16 are added first, then i ^ 8, and so on. Addition commutes,
// so both lanes get equal bits.
template <typename T>
__device__ __forceinline__ T WarpSum(T value) {
#pragma unroll
  for (int distance = kWarpThreads / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(kWholeWarp, value, distance);
  }
  return value;
}

// The larger of two numbers. If one is NaN, the result is the other, as in fmaxf.
__device__ __forceinline__ float Larger(float a, float b) { return fmaxf(a, b); }
__device__ __forceinline__ double Larger(double a, double b) { return fmax(a, b); }

template <typename T>
__device__ __forceinline__ T WarpMax(T value) {
#pragma unroll
  for (int distance = kWarpThreads / 2; distance > 0; distance /= 2) {
    value = Larger(value, __shfl_xor_sync(kWholeWarp, value, distance));
  }
  return value;
}

// The sum over a one-dimensional thread block of exactly kThreads threads, a multiple of the warp
// size. Each warp is summed as above, and the results of the warps in ascending order. The function
// contains two barriers, so it can be called again at once.
template <unsigned kThreads, typename T>
__device__ __forceinline__ T BlockSum(T value) {
  constexpr int kWarps = kThreads / kWarpThreads;
  static_assert(kThreads % kWarpThreads == 0 && kWarps > 0);
  __shared__ Shared<T, kWarps> sums;
  const T sum = WarpSum(value);
  if (threadIdx.x % kWarpThreads == 0) sums[threadIdx.x / kWarpThreads] = sum;
  __syncthreads();
  T total = sums[0];
#pragma unroll
  for (int warp = 1; warp < kWarps; ++warp) total += sums[warp];
  __syncthreads();
  return total;
}

// The maximum, under the same conditions.
template <unsigned kThreads, typename T>
__device__ __forceinline__ T BlockMax(T value) {
  constexpr int kWarps = kThreads / kWarpThreads;
  static_assert(kThreads % kWarpThreads == 0 && kWarps > 0);
  __shared__ Shared<T, kWarps> largest;
  const T of_warp = WarpMax(value);
  if (threadIdx.x % kWarpThreads == 0) largest[threadIdx.x / kWarpThreads] = of_warp;
  __syncthreads();
  T total = largest[0];
#pragma unroll
  for (int warp = 1; warp < kWarps; ++warp) total = Larger(total, largest[warp]);
  __syncthreads();
  return total;
}

}  // namespace horizon
