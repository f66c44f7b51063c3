#pragma once

#include <cstdint>

#include "common/cuda_result.h"

struct CUstream_st;

namespace horizon {

// The launcher of residual_cuda.cu: bf16 as uint16_t, all pointers to device memory, at least one
// element. It puts the work on the stream and returns what the launch said.
struct ResidualLaunch {
  int64_t count;
  const uint16_t* residual;     // null: none
  const uint16_t* branch_bf16;  // one of the two
  const float* branch_fp32;
  float scale;
  uint16_t* output;  // may be residual or branch_bf16
};
CudaResult LaunchResidualAdd(const ResidualLaunch& args, CUstream_st* stream);

}  // namespace horizon
