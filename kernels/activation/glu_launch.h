#pragma once

#include <cstdint>

#include "common/cuda_result.h"
#include "kernels/activation/glu_activation.h"

struct CUstream_st;

namespace horizon {

// These functions launch the kernels of glu_cuda.cu on the stream and return the result of the
// launch, without waiting. bf16 is uint16_t, all pointers are to device memory, and there is at
// least one element.

struct GluForwardLaunch {
  GluActivation activation;
  int64_t count;
  const uint16_t* gate;
  const uint16_t* up;
  uint16_t* output;
};
CudaResult LaunchGluForward(const GluForwardLaunch& values, CUstream_st* stream);

struct GluBackwardLaunch {
  GluActivation activation;
  int64_t count;
  const uint16_t* gate;
  const uint16_t* up;
  const uint16_t* output_gradient;
  uint16_t* output;         // null: not stored
  uint16_t* gate_gradient;  // may be output_gradient
  uint16_t* up_gradient;
};
CudaResult LaunchGluBackward(const GluBackwardLaunch& gradients, CUstream_st* stream);

}  // namespace horizon
