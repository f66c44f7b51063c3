#pragma once

#include <cstdint>

#include "common/cuda_result.h"
#include "kernels/activation/glu_activation.h"

struct CUstream_st;

namespace horizon {

// The launchers of glu_cuda.cu: bf16 as uint16_t, all pointers to device memory, at least one
// element. They put the work on the stream and return what the launch said.

struct GluValues {
  GluActivation activation;
  int64_t count;
  const uint16_t* gate;
  const uint16_t* up;
  uint16_t* output;
};
CudaResult LaunchGluForward(const GluValues& values, CUstream_st* stream);

struct GluGradients {
  GluActivation activation;
  int64_t count;
  const uint16_t* gate;
  const uint16_t* up;
  const uint16_t* output_gradient;
  uint16_t* output;         // null: not wanted
  uint16_t* gate_gradient;  // may be output_gradient
  uint16_t* up_gradient;
};
CudaResult LaunchGluBackward(const GluGradients& gradients, CUstream_st* stream);

}  // namespace horizon
