#include <algorithm>

#include "kernels/cuda/cuda_launch.cuh"
#include "kernels/optimizer/split_master_launch.h"

namespace horizon {
namespace {

constexpr uint32_t kRefused = 0x7F7F8000;
constexpr uint32_t kMagnitude = 0x7FFFFFFF;
constexpr unsigned kThreads = 256;
// Enough thread blocks to fill any device of today; each thread strides over the remaining
// elements.
constexpr size_t kMostThreadBlocks = 65535;

__device__ void NoteRefused(uint32_t bits, size_t index, unsigned long long* first_refused) {
  if ((bits & kMagnitude) >= kRefused) {
    atomicMin(first_refused, static_cast<unsigned long long>(index));
  }
}

__global__ void SplitMaster(const float* __restrict__ master, uint16_t* __restrict__ hi,
                            int16_t* __restrict__ lo, unsigned long long* first_refused,
                            size_t count) {
  const size_t stride = size_t{gridDim.x} * blockDim.x;
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    const uint32_t bits = __float_as_uint(master[i]);
    hi[i] = static_cast<uint16_t>((bits + 0x8000) >> 16);
    lo[i] = static_cast<int16_t>(bits);
    NoteRefused(bits, i, first_refused);
  }
}

__global__ void JoinMaster(const uint16_t* __restrict__ hi, const int16_t* __restrict__ lo,
                           float* __restrict__ master, unsigned long long* first_refused,
                           size_t count) {
  const size_t stride = size_t{gridDim.x} * blockDim.x;
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    const uint32_t bits = (uint32_t{hi[i]} << 16) + static_cast<uint32_t>(int32_t{lo[i]});
    master[i] = __uint_as_float(bits);
    NoteRefused(bits, i, first_refused);
  }
}

unsigned ThreadBlocksFor(size_t count) {
  return static_cast<unsigned>(std::min((count + kThreads - 1) / kThreads, kMostThreadBlocks));
}

}  // namespace

CudaResult LaunchSplitMaster(const float* master, uint16_t* hi, int16_t* lo,
                             uint64_t* first_refused, size_t count, CUstream_st* stream) {
  const cudaError_t cleared = cudaMemsetAsync(first_refused, 0xFF, sizeof(*first_refused), stream);
  if (cleared != cudaSuccess || count == 0) return ToResult(cleared);
  return Launch(SplitMaster, LaunchShape{ThreadBlocksFor(count), kThreads}, stream, master, hi, lo,
                reinterpret_cast<unsigned long long*>(first_refused), count);
}

CudaResult LaunchJoinMaster(const uint16_t* hi, const int16_t* lo, float* master,
                            uint64_t* first_refused, size_t count, CUstream_st* stream) {
  const cudaError_t cleared = cudaMemsetAsync(first_refused, 0xFF, sizeof(*first_refused), stream);
  if (cleared != cudaSuccess || count == 0) return ToResult(cleared);
  return Launch(JoinMaster, LaunchShape{ThreadBlocksFor(count), kThreads}, stream, hi, lo, master,
                reinterpret_cast<unsigned long long*>(first_refused), count);
}

}  // namespace horizon
