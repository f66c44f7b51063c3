#pragma once

#include <cstdint>

#include "common/cuda_result.h"
#include "kernels/arguments/gradient_out.h"

struct CUstream_st;

namespace horizon {

// The launcher of bias_gradient_cuda.cu: bf16 as uint16_t, all pointers to device memory, at least
// one column. It puts the work on the stream and returns what the launches said.
struct BiasColumns {
  int64_t tokens;  // may be 0
  int64_t width;
  const uint16_t* output_gradient;
  GradientOut gradient;
  void* scratch;  // device memory, aligned to 16, LeastColumnScratchBytes(width) or more
  int64_t scratch_bytes;
};
CudaResult LaunchBiasGradient(const BiasColumns& columns, CUstream_st* stream);

}  // namespace horizon
