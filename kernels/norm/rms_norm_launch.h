#pragma once

#include <cstdint>

#include "common/cuda_result.h"
#include "kernels/arguments/gradient_out.h"

struct CUstream_st;

namespace horizon {

// These functions launch the kernels of rms_norm_cuda.cu on the stream and return the result of the
// launches, without waiting. bf16 is uint16_t, all pointers are to device memory, and there is at
// least one row and one column unless a comment says otherwise.

struct RmsNormForwardLaunch {
  int64_t rows;
  int64_t width;
  float epsilon;
  float added_to_weights;  // see AddedToWeights
  const uint16_t* x;
  const uint16_t* weight;
  uint16_t* y;         // may be x
  float* inverse_rms;  // null: not stored
};
CudaResult LaunchRmsNormForward(const RmsNormForwardLaunch& norm, CUstream_st* stream);

struct RmsNormRecomputeLaunch {
  int64_t rows;
  int64_t width;
  float added_to_weights;
  const uint16_t* x;
  const float* inverse_rms;
  const uint16_t* weight;
  uint16_t* y;  // may be x
};
CudaResult LaunchRmsNormRecompute(const RmsNormRecomputeLaunch& norm, CUstream_st* stream);

struct RmsNormBackwardLaunch {
  int64_t rows;  // may be 0
  int64_t width;
  float added_to_weights;
  const uint16_t* x;
  const float* inverse_rms;
  const uint16_t* weight;  // null only without x_gradient
  const uint16_t* y_gradient;
  const uint16_t* residual_gradient;  // null: none
  uint16_t* x_gradient;               // may be one of the two above; null: not computed
  GradientOut weight_gradient;        // may have neither pointer: not computed
  // For weight_gradient: device memory, aligned to 16 bytes, LeastColumnScratchBytes(width) or
  // more.
  void* scratch;
  int64_t scratch_bytes;
};
CudaResult LaunchRmsNormBackward(const RmsNormBackwardLaunch& norm, CUstream_st* stream);

}  // namespace horizon
