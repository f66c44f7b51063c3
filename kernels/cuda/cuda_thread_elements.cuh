// What one thread handles at a time in passes over arrays: kElementsPerThread consecutive elements.
//   ThreadElements<float> x = LoadAsFloat(array + i, count - i, whole);
//   for (int j = 0; j < kElementsPerThread; ++j) x[j] *= 2.0f;
//   StoreFromFloat(array + i, x, count - i, whole);
// They are loaded and stored in vectors of at most 16 bytes if all of them exist and the pointer is
// aligned, and one by one otherwise. A thread handles the same elements either way, so the bits do
// not depend on alignment.
#pragma once

#include <algorithm>

#include "kernels/cuda/cuda_numbers.cuh"

namespace horizon {

inline constexpr int kElementsPerThread = 8;

template <typename T>
struct ThreadElements {
  T values[kElementsPerThread];
  __device__ __forceinline__ T& operator[](int index) { return values[index]; }
  __device__ __forceinline__ const T& operator[](int index) const { return values[index]; }
};

// Elements that one access moves: 16 bytes, or all elements of a thread if these are fewer bytes.
template <typename T>
inline constexpr int kElementsPerVector = sizeof(T) == 1 ? kElementsPerThread
                                                         : 16 / static_cast<int>(sizeof(T));

// Whether an array is aligned for these vectors at its first element. True for null. Launchers on
// the host call it too.
template <typename T>
__host__ __device__ __forceinline__ bool IsAlignedForVectors(const T* array) {
  return IsVectorAligned<kElementsPerVector<T>>(array);
}

// Load or store the thread's elements, of which the first `count` exist (`count` may be any number,
// also negative or larger than kElementsPerThread). Loaded elements past them are zero. `whole`
// states that all of them exist and that the array is aligned for vectors.
template <typename T>
__device__ __forceinline__ ThreadElements<T> LoadElements(const T* from, int64_t count,
                                                          bool whole) {
  constexpr int kPerVector = kElementsPerVector<T>;
  ThreadElements<T> elements;
  if (whole) {
#pragma unroll
    for (int i = 0; i < kElementsPerThread; i += kPerVector) {
      const Vector<T, kPerVector> vector = LoadVector<kPerVector>(from + i);
#pragma unroll
      for (int j = 0; j < kPerVector; ++j) elements[i + j] = vector[j];
    }
  } else {
#pragma unroll
    for (int i = 0; i < kElementsPerThread; ++i) elements[i] = i < count ? from[i] : T{};
  }
  return elements;
}
template <typename T>
__device__ __forceinline__ void StoreElements(T* to, const ThreadElements<T>& elements,
                                              int64_t count, bool whole) {
  constexpr int kPerVector = kElementsPerVector<T>;
  if (whole) {
#pragma unroll
    for (int i = 0; i < kElementsPerThread; i += kPerVector) {
      Vector<T, kPerVector> vector;
#pragma unroll
      for (int j = 0; j < kPerVector; ++j) vector[j] = elements[i + j];
      StoreVector<kPerVector>(to + i, vector);
    }
  } else {
#pragma unroll
    for (int i = 0; i < kElementsPerThread; ++i) {
      if (i < count) to[i] = elements[i];
    }
  }
}

// The same for numbers that the array holds as bf16 (uint16_t) or fp32; the thread has them as
// fp32.
template <typename T>
__device__ __forceinline__ ThreadElements<float> LoadAsFloat(const T* from, int64_t count,
                                                             bool whole) {
  const ThreadElements<T> stored = LoadElements(from, count, whole);
  ThreadElements<float> numbers;
#pragma unroll
  for (int i = 0; i < kElementsPerThread; ++i) numbers[i] = FloatOf(stored[i]);
  return numbers;
}
template <typename T>
__device__ __forceinline__ void StoreFromFloat(T* to, const ThreadElements<float>& numbers,
                                               int64_t count, bool whole) {
  ThreadElements<T> stored;
#pragma unroll
  for (int i = 0; i < kElementsPerThread; ++i) stored[i] = FromFloat<T>(numbers[i]);
  StoreElements(to, stored, count, whole);
}

// The number of thread blocks for `items` work items of which a thread block handles
// `items_per_block` at a time. It is limited to a few times what the largest device of today holds
// at once, so a kernel must loop over the remaining items with a stride of the whole grid.
inline constexpr int64_t kMostThreadBlocks = 4096;
inline unsigned ThreadBlocksFor(int64_t items, int64_t items_per_block) {
  return static_cast<unsigned>(
      std::min((items + items_per_block - 1) / items_per_block, kMostThreadBlocks));
}

}  // namespace horizon
