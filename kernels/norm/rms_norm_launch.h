#pragma once

#include <cstdint>

#include "common/cuda_result.h"
#include "kernels/arguments/gradient_out.h"

struct CUstream_st;

namespace horizon {

// The launchers of rms_norm_cuda.cu: bf16 as uint16_t, all pointers to device memory, at least one
// row and one column. They put the work on the stream and return what the launches said.

struct RmsNormRows {
  int64_t rows;
  int64_t width;
  float epsilon;
  float added_to_weights;  // see AddedToWeights
  const uint16_t* x;
  const uint16_t* weight;
  uint16_t* y;         // may be x
  float* inverse_rms;  // null: not wanted
};
CudaResult LaunchRmsNormForward(const RmsNormRows& norm, CUstream_st* stream);

struct RmsNormScaled {
  int64_t rows;
  int64_t width;
  float added_to_weights;
  const uint16_t* x;
  const float* inverse_rms;
  const uint16_t* weight;
  uint16_t* y;  // may be x
};
CudaResult LaunchRmsNormRecompute(const RmsNormScaled& norm, CUstream_st* stream);

struct RmsNormGradients {
  int64_t rows;  // may be 0
  int64_t width;
  float added_to_weights;
  const uint16_t* x;
  const float* inverse_rms;
  const uint16_t* weight;  // null only without x_gradient
  const uint16_t* y_gradient;
  const uint16_t* residual_gradient;  // null: none
  uint16_t* x_gradient;               // may be one of the two above; null: not wanted
  GradientOut weight_gradient;        // wanted or not
  // Of weight_gradient: device memory, aligned to 16, LeastColumnScratchBytes(width) or more.
  void* scratch;
  int64_t scratch_bytes;
};
CudaResult LaunchRmsNormBackward(const RmsNormGradients& norm, CUstream_st* stream);

}  // namespace horizon
