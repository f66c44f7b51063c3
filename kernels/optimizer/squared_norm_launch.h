#pragma once

#include <cstdint>

#include "common/cuda_result.h"

struct CUstream_st;

namespace horizon {

// The launcher of squared_norm_cuda.cu: all pointers to device memory, one of fp32 and bf16 set, at
// least one element. It puts the work on the stream and returns what the launch said.
struct SquaredBlocks {
  int64_t count;
  int64_t block;
  const float* fp32;
  const uint16_t* bf16;
  double* partials;
};
CudaResult LaunchSquaredNorm(const SquaredBlocks& blocks, CUstream_st* stream);

}  // namespace horizon
