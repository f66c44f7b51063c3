// Eight neighbours of an array at a time: what a thread of the passes over arrays takes. They move
// in vectors of at most 16 bytes where all eight are there and the pointer allows it, else one by
// one; a thread meets the same elements either way, so bits do not depend on alignment.
#pragma once

#include <algorithm>

#include "kernels/cuda/cuda_numbers.cuh"

namespace horizon {

template <typename T>
struct Eight {
  T values[8];
  __device__ __forceinline__ T& operator[](int index) { return values[index]; }
  __device__ __forceinline__ const T& operator[](int index) const { return values[index]; }
};

template <typename T>
inline constexpr int kVectorLanes = sizeof(T) == 1 ? 8 : 16 / static_cast<int>(sizeof(T));

// Whether an array may be moved in vectors from its begin on; null may. For launchers too.
template <typename T>
__host__ __device__ __forceinline__ bool IsEightAligned(const T* array) {
  return IsVectorAligned<kVectorLanes<T>>(array);
}

// The first `count` (any number; 8 at most are taken) elements; the others are zero. `whole`: there
// are eight, and the array is aligned.
template <typename T>
__device__ __forceinline__ Eight<T> LoadEight(const T* from, int64_t count, bool whole) {
  constexpr int kLanes = kVectorLanes<T>;
  Eight<T> eight;
  if (whole) {
#pragma unroll
    for (int i = 0; i < 8; i += kLanes) {
      const Vector<T, kLanes> vector = LoadVector<kLanes>(from + i);
#pragma unroll
      for (int j = 0; j < kLanes; ++j) eight[i + j] = vector[j];
    }
  } else {
#pragma unroll
    for (int i = 0; i < 8; ++i) eight[i] = i < count ? from[i] : T{};
  }
  return eight;
}
template <typename T>
__device__ __forceinline__ void StoreEight(T* to, const Eight<T>& eight, int64_t count,
                                           bool whole) {
  constexpr int kLanes = kVectorLanes<T>;
  if (whole) {
#pragma unroll
    for (int i = 0; i < 8; i += kLanes) {
      Vector<T, kLanes> vector;
#pragma unroll
      for (int j = 0; j < kLanes; ++j) vector[j] = eight[i + j];
      StoreVector<kLanes>(to + i, vector);
    }
  } else {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (i < count) to[i] = eight[i];
    }
  }
}

// The same of numbers, as fp32 whatever the array keeps.
template <typename T>
__device__ __forceinline__ Eight<float> LoadNumbers(const T* from, int64_t count, bool whole) {
  const Eight<T> stored = LoadEight(from, count, whole);
  Eight<float> numbers;
#pragma unroll
  for (int i = 0; i < 8; ++i) numbers[i] = FloatOf(stored[i]);
  return numbers;
}
template <typename T>
__device__ __forceinline__ void StoreNumbers(T* to, const Eight<float>& numbers, int64_t count,
                                             bool whole) {
  Eight<T> stored;
#pragma unroll
  for (int i = 0; i < 8; ++i) stored[i] = NumberOf<T>(numbers[i]);
  StoreEight(to, stored, count, whole);
}

// How many blocks share `items` pieces of work, `of_block` at a time: each strides over the rest.
// The most is a few times what the largest device of today holds at once.
inline constexpr int64_t kMostBlocks = 4096;
inline unsigned BlocksFor(int64_t items, int64_t of_block) {
  return static_cast<unsigned>(std::min((items + of_block - 1) / of_block, kMostBlocks));
}

}  // namespace horizon
