// The thread that runs, and how the threads of a block meet. A block's threads are fibers of one
// operating system's thread that switch only inside these functions.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "fake_cuda_intrinsics.h"

// Set by the block scheduler at every switch; of no meaning outside a kernel.
extern uint3 threadIdx;
extern uint3 blockIdx;
extern dim3 blockDim;
extern dim3 gridDim;
inline constexpr int warpSize = 32;

namespace fake_cuda {

// Which of the calls that a whole block or the lanes of a mask make together.
enum class Meeting { kNone, kBarrier, kWarpBarrier, kShuffle, kVote };

// Waits until all threads of the block have come; returns how many gave `predicate`.
int MeetBlock(bool predicate);
// Waits for the lanes of the mask.
void MeetWarp(uint32_t mask);
// Gives `bits`, waits for the lanes of the mask, returns what lane `from` (of the warp) gave.
uint64_t Exchange(uint32_t mask, uint64_t bits, int from, unsigned bytes);
// Bit i of the result: lane i of the mask gave `predicate`.
uint32_t Vote(uint32_t mask, bool predicate);
// The place of the thread in its warp.
int Lane();
// A warp's part of `width` lanes must be a power of two up to 32.
void CheckWidth(int width);

template <typename T>
T ExchangeValue(uint32_t mask, T value, int from) {
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = Exchange(mask, bits, from, sizeof(T));
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

// Atomics need no protection: a switch happens elsewhere only.
template <typename T, typename Change>
T Exchanged(T* cell, const Change& change) {
  const T before = *cell;
  *cell = change(before);
  return before;
}

}  // namespace fake_cuda

inline void __syncthreads() { fake_cuda::MeetBlock(false); }
inline int __syncthreads_count(int predicate) { return fake_cuda::MeetBlock(predicate != 0); }
inline int __syncthreads_or(int predicate) { return fake_cuda::MeetBlock(predicate != 0) > 0; }
inline int __syncthreads_and(int predicate) { return fake_cuda::MeetBlock(predicate == 0) == 0; }
inline void __syncwarp(unsigned mask = 0xFFFFFFFFu) { fake_cuda::MeetWarp(mask); }
inline void __threadfence() {}
inline void __threadfence_block() {}

inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return fake_cuda::Vote(mask, predicate != 0);
}
inline int __any_sync(unsigned mask, int predicate) {
  return fake_cuda::Vote(mask, predicate != 0) != 0;
}
inline int __all_sync(unsigned mask, int predicate) {
  return fake_cuda::Vote(mask, predicate == 0) == 0;
}

template <typename T>
T __shfl_sync(unsigned mask, T value, int source, int width = warpSize) {
  fake_cuda::CheckWidth(width);
  const int lane = fake_cuda::Lane();
  return fake_cuda::ExchangeValue(mask, value, (lane & ~(width - 1)) | (source & (width - 1)));
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = warpSize) {
  fake_cuda::CheckWidth(width);
  const int lane = fake_cuda::Lane();
  const int from = lane ^ lane_mask;
  const bool inside = from / width <= lane / width;
  return fake_cuda::ExchangeValue(mask, value, inside ? from : lane);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = warpSize) {
  fake_cuda::CheckWidth(width);
  const int lane = fake_cuda::Lane();
  const bool inside = (lane & (width - 1)) + static_cast<int>(distance) < width;
  return fake_cuda::ExchangeValue(mask, value, inside ? lane + static_cast<int>(distance) : lane);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = warpSize) {
  fake_cuda::CheckWidth(width);
  const int lane = fake_cuda::Lane();
  const bool inside = (lane & (width - 1)) >= static_cast<int>(distance);
  return fake_cuda::ExchangeValue(mask, value, inside ? lane - static_cast<int>(distance) : lane);
}

// Integers only: sums of floats by atomics have no fixed order. The cell may be global memory or a
// cell of Shared (see fake_cuda_shared.h).
template <typename T>
requires std::is_integral_v<T> T atomicAdd(T* cell, std::type_identity_t<T> value) {
  return fake_cuda::Exchanged(cell, [&](T before) { return static_cast<T>(before + value); });
}
template <typename T>
requires std::is_integral_v<T> T atomicMin(T* cell, std::type_identity_t<T> value) {
  return fake_cuda::Exchanged(cell, [&](T before) { return value < before ? value : before; });
}
template <typename T>
requires std::is_integral_v<T> T atomicMax(T* cell, std::type_identity_t<T> value) {
  return fake_cuda::Exchanged(cell, [&](T before) { return value > before ? value : before; });
}
template <typename T>
requires std::is_integral_v<T> T atomicOr(T* cell, std::type_identity_t<T> value) {
  return fake_cuda::Exchanged(cell, [&](T before) { return static_cast<T>(before | value); });
}
template <typename T>
requires std::is_integral_v<T> T atomicExch(T* cell, std::type_identity_t<T> value) {
  return fake_cuda::Exchanged(cell, [&](T) { return value; });
}
template <typename T>
requires std::is_integral_v<T> T atomicCAS(T* cell, std::type_identity_t<T> expected,
                                           std::type_identity_t<T> value) {
  return fake_cuda::Exchanged(cell, [&](T before) { return before == expected ? value : before; });
}
