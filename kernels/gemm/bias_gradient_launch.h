#pragma once

#include <cstdint>

#include "common/cuda_result.h"
#include "kernels/arguments/gradient_out.h"

struct CUstream_st;

namespace horizon {

// Launches the kernels of bias_gradient_cuda.cu on the stream and returns the result of the
// launches, without waiting. bf16 is uint16_t, all pointers are to device memory, and there is at
// least one column.
struct BiasGradientLaunch {
  int64_t tokens;  // may be 0
  int64_t width;
  const uint16_t* output_gradient;
  GradientOut gradient;
  void* scratch;  // device memory, aligned to 16 bytes, LeastColumnScratchBytes(width) or more
  int64_t scratch_bytes;
};
CudaResult LaunchBiasGradient(const BiasGradientLaunch& columns, CUstream_st* stream);

}  // namespace horizon
