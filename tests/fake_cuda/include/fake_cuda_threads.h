// The index variables of the running thread, and the calls that threads of a thread block make
// together: barriers, shuffles, votes; atomics too. The threads of a thread block are fibers of one
// operating system thread, which switch only inside these functions.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "fake_cuda_intrinsics.h"

// Set by the thread block scheduler at every switch; meaningless outside a kernel.
extern uint3 threadIdx;
extern uint3 blockIdx;
extern dim3 blockDim;
extern dim3 gridDim;
inline constexpr int warpSize = 32;

namespace fake_cuda {

// A call that all threads of a thread block (kBarrier) or all warp lanes of a mask make together.
// kMatrixLoad and kMatrixMultiply are calls of whole warps (fake_cuda_dynamic_shared.h).
enum class Collective {
  kNone,
  kBarrier,
  kWarpBarrier,
  kShuffle,
  kVote,
  kMatrixLoad,
  kMatrixMultiply
};

// Waits for all threads of the thread block and returns how many of them passed a true `predicate`.
int SyncThreadBlock(bool predicate);
// Waits for the warp lanes of the mask.
void SyncWarp(uint32_t mask);
// Waits for the warp lanes of the mask and returns the `bits` that warp lane `from` passed.
uint64_t Shuffle(uint32_t mask, uint64_t bits, int from, unsigned bytes);
// Waits for the warp lanes of the mask. Bit i of the result: warp lane i is in the mask and passed
// a true `predicate`.
uint32_t Vote(uint32_t mask, bool predicate);
// The index of the running thread in its warp, 0 to 31.
int WarpLane();
// Reports a fault unless `width`, the number of warp lanes among which a shuffle takes place, is a
// power of two up to 32.
void CheckWidth(int width);

template <typename T>
T ShuffleValue(uint32_t mask, T value, int from) {
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = Shuffle(mask, bits, from, sizeof(T));
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

// Atomics need no protection, since no fiber switch happens inside them. Returns the old value.
template <typename T, typename Change>
T AtomicUpdate(T* cell, const Change& change) {
  const T before = *cell;
  *cell = change(before);
  return before;
}

}  // namespace fake_cuda

inline void __syncthreads() { fake_cuda::SyncThreadBlock(false); }
inline int __syncthreads_count(int predicate) { return fake_cuda::SyncThreadBlock(predicate != 0); }
inline int __syncthreads_or(int predicate) {
  return fake_cuda::SyncThreadBlock(predicate != 0) > 0;
}
inline int __syncthreads_and(int predicate) {
  return fake_cuda::SyncThreadBlock(predicate == 0) == 0;
}
inline void __syncwarp(unsigned mask = 0xFFFFFFFFu) { fake_cuda::SyncWarp(mask); }
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
  const int warp_lane = fake_cuda::WarpLane();
  return fake_cuda::ShuffleValue(mask, value, (warp_lane & ~(width - 1)) | (source & (width - 1)));
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = warpSize) {
  fake_cuda::CheckWidth(width);
  const int warp_lane = fake_cuda::WarpLane();
  const int from = warp_lane ^ lane_mask;
  const bool inside = from / width <= warp_lane / width;
  return fake_cuda::ShuffleValue(mask, value, inside ? from : warp_lane);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = warpSize) {
  fake_cuda::CheckWidth(width);
  const int warp_lane = fake_cuda::WarpLane();
  const bool inside = (warp_lane & (width - 1)) + static_cast<int>(distance) < width;
  return fake_cuda::ShuffleValue(mask, value,
                                 inside ? warp_lane + static_cast<int>(distance) : warp_lane);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = warpSize) {
  fake_cuda::CheckWidth(width);
  const int warp_lane = fake_cuda::WarpLane();
  const bool inside = (warp_lane & (width - 1)) >= static_cast<int>(distance);
  return fake_cuda::ShuffleValue(mask, value,
                                 inside ? warp_lane - static_cast<int>(distance) : warp_lane);
}

// Atomics on integers only, since atomic sums of floats have no fixed order. These are for global
// memory; fake_cuda_shared.h has those for cells of Shared.
template <typename T>
requires std::is_integral_v<T> T atomicAdd(T* cell, std::type_identity_t<T> value) {
  return fake_cuda::AtomicUpdate(cell, [&](T before) { return static_cast<T>(before + value); });
}
template <typename T>
requires std::is_integral_v<T> T atomicMin(T* cell, std::type_identity_t<T> value) {
  return fake_cuda::AtomicUpdate(cell, [&](T before) { return value < before ? value : before; });
}
template <typename T>
requires std::is_integral_v<T> T atomicMax(T* cell, std::type_identity_t<T> value) {
  return fake_cuda::AtomicUpdate(cell, [&](T before) { return value > before ? value : before; });
}
template <typename T>
requires std::is_integral_v<T> T atomicOr(T* cell, std::type_identity_t<T> value) {
  return fake_cuda::AtomicUpdate(cell, [&](T before) { return static_cast<T>(before | value); });
}
template <typename T>
requires std::is_integral_v<T> T atomicExch(T* cell, std::type_identity_t<T> value) {
  return fake_cuda::AtomicUpdate(cell, [&](T) { return value; });
}
template <typename T>
requires std::is_integral_v<T> T atomicCAS(T* cell, std::type_identity_t<T> expected,
                                           std::type_identity_t<T> value) {
  return fake_cuda::AtomicUpdate(cell,
                                 [&](T before) { return before == expected ? value : before; });
}
