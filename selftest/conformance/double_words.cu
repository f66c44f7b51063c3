#include "kernels/cuda/cuda_launch.cuh"
#include "selftest/conformance/double_words.h"

namespace horizon {
namespace {

__global__ void DoubleWords(uint32_t* target, const uint32_t* source, uint64_t words) {
  const uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < words) target[i] = 2 * source[i];
}

}  // namespace

CudaResult LaunchDoubleWords(uint32_t* target, const uint32_t* source, uint64_t words,
                             CUstream_st* stream) {
  constexpr unsigned kThreads = 32;
  const auto blocks = static_cast<unsigned>((words + kThreads - 1) / kThreads);
  return Launch(DoubleWords, LaunchShape{blocks, kThreads}, stream, target, source, words);
}

}  // namespace horizon
