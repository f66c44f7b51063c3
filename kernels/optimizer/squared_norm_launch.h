#pragma once

#include <cstdint>

#include "common/cuda_result.h"

struct CUstream_st;

namespace horizon {

// Launches the kernel of squared_norm_cuda.cu on the stream and returns the result of the launch,
// without waiting. All pointers are to device memory, exactly one of fp32 and bf16 is set, and
// there is at least one element. The fields are those of SquaredNorm in squared_norm.h.
struct SquaredNormLaunch {
  int64_t count;
  int64_t block;
  const float* fp32;
  const uint16_t* bf16;
  double* partials;
};
CudaResult LaunchSquaredNorm(const SquaredNormLaunch& blocks, CUstream_st* stream);

}  // namespace horizon
