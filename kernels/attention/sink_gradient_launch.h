#pragma once

#include <cstdint>

#include "common/cuda_result.h"
#include "kernels/arguments/gradient_out.h"

struct CUstream_st;

namespace horizon {

// Launches the kernels of sink_gradient_cuda.cu on the stream and returns the result of the
// launches, without waiting. bf16 is uint16_t, all pointers are to device memory, and there is at
// least one head.
struct SinkGradientLaunch {
  int64_t tokens;  // may be 0
  int64_t heads;
  const uint16_t* sinks;     // [heads]
  const float* log_sum_exp;  // [tokens, heads]
  const float* output_dot;   // [tokens, heads]
  GradientOut gradient;
  void* scratch;  // device memory, aligned to 16 bytes, LeastColumnScratchBytes(heads) or more
  int64_t scratch_bytes;
};
CudaResult LaunchSinkGradient(const SinkGradientLaunch& args, CUstream_st* stream);

}  // namespace horizon
