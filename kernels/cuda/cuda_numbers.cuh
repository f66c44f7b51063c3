// Number formats and vectors for device code: bf16 is held as its 16 bits, and a Vector is loaded
// or stored in one access.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#ifndef __CUDACC__
#include <fake_cuda_vector.h>
#endif

namespace horizon {

// The value of a bf16 as fp32. The overload for fp32 lets one template serve both formats.
__device__ __forceinline__ float FloatOf(uint16_t bf16) {
  return __uint_as_float(uint32_t{bf16} << 16);
}
__device__ __forceinline__ float FloatOf(float value) { return value; }

// The nearest bf16, ties to even. NaN stays NaN (quiet, with its upper bits). The host kernels
// round in the same way.
__device__ __forceinline__ uint16_t Bf16Of(float value) {
  const uint32_t bits = __float_as_uint(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<uint16_t>((bits | 0x00400000u) >> 16);
  return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

// Rounds a number to the format of an array of T: uint16_t for bf16, or float.
template <typename T>
__device__ __forceinline__ T FromFloat(float value);
template <>
__device__ __forceinline__ uint16_t FromFloat<uint16_t>(float value) {
  return Bf16Of(value);
}
template <>
__device__ __forceinline__ float FromFloat<float>(float value) {
  return value;
}

// N consecutive elements. N is a power of two, and the vector has at most 16 bytes.
template <typename T, int N>
struct alignas(sizeof(T) * N) Vector {
  static_assert(N > 0 && (N & (N - 1)) == 0 && sizeof(T) * N <= 16);
  T values[N];
  __host__ __device__ T& operator[](int index) { return values[index]; }
  __host__ __device__ const T& operator[](int index) const { return values[index]; }
};

// Whether vectors of N elements can be loaded from and stored to `pointer`. Launchers on the host
// call it too.
template <int N, typename T>
__host__ __device__ __forceinline__ bool IsVectorAligned(const T* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % (sizeof(T) * N) == 0;
}

// Load and store N elements in one access. The pointer must be aligned to it (IsVectorAligned).
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
