#pragma once

#include <cstdint>

#include "common/cuda_result.h"

struct CUstream_st;

namespace horizon {

// Launches the kernel of residual_cuda.cu on the stream and returns the result of the launch,
// without waiting. bf16 is uint16_t, all pointers are to device memory, and there is at least one
// element.
struct ResidualAddLaunch {
  int64_t count;
  const uint16_t* residual;     // null: none
  const uint16_t* branch_bf16;  // exactly one of the two branches is set
  const float* branch_fp32;
  float scale;
  uint16_t* output;  // may be residual or branch_bf16
};
CudaResult LaunchResidualAdd(const ResidualAddLaunch& args, CUstream_st* stream);

}  // namespace horizon
