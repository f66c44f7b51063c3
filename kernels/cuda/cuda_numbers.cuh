// Numbers as device code holds them: bf16 as its 16 bits, and vectors that move in one access.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#ifndef __CUDACC__
#include <fake_cuda_vector.h>
#endif

namespace horizon {

// The value of a bf16. The overload for fp32 lets one template serve both.
__device__ __forceinline__ float FloatOf(uint16_t bf16) {
  return __uint_as_float(uint32_t{bf16} << 16);
}
__device__ __forceinline__ float FloatOf(float value) { return value; }

// The nearest bf16, ties to even; NaN stays NaN (quiet, its upper bits kept), as the host bodies
// round.
__device__ __forceinline__ uint16_t Bf16Of(float value) {
  const uint32_t bits = __float_as_uint(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<uint16_t>((bits | 0x00400000u) >> 16);
  return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

// A number as an array of T (uint16_t: bf16, float) stores it.
template <typename T>
__device__ __forceinline__ T NumberOf(float value);
template <>
__device__ __forceinline__ uint16_t NumberOf<uint16_t>(float value) {
  return Bf16Of(value);
}
template <>
__device__ __forceinline__ float NumberOf<float>(float value) {
  return value;
}

// N neighbours, N a power of two, 16 bytes at most.
template <typename T, int N>
struct alignas(sizeof(T) * N) Vector {
  static_assert(N > 0 && (N & (N - 1)) == 0 && sizeof(T) * N <= 16);
  T values[N];
  __host__ __device__ T& operator[](int index) { return values[index]; }
  __host__ __device__ const T& operator[](int index) const { return values[index]; }
};

// Whether vectors of N may be loaded from and stored to `pointer`; also for launchers.
template <int N, typename T>
__host__ __device__ __forceinline__ bool IsVectorAligned(const T* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % (sizeof(T) * N) == 0;
}

// One access to N elements; the pointer is aligned to all of them (IsVectorAligned).
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> LoadVector(const T* from) {
#ifdef __CUDACC__
  return *reinterpret_cast<const Vector<T, N>*>(from);
#else
  return fake_cuda::LoadVector<Vector<T, N> >(from);
#endif
}
template <int N, typename T>
__device__ __forceinline__ void StoreVector(T* to, const Vector<T, N>& vector) {
#ifdef __CUDACC__
  *reinterpret_cast<Vector<T, N>*>(to) = vector;
#else
  fake_cuda::StoreVector(to, vector);
#endif
}

}  // namespace horizon
