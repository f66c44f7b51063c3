#pragma once

#include <cstdint>

#include "common/cuda_result.h"
#include "kernels/activation/glu_activation.h"

struct CUstream_st;

namespace horizon {

// These functions launch the kernels of expert_glu_cuda.cu on the stream and return the result of
// the launch, without waiting. bf16 is uint16_t, and all pointers are to device memory. The width
// is a multiple of 8; it, experts and most_rows are not 0.

struct ExpertGluRows {
  GluActivation activation = GluActivation::kSilu;  // without a limit
  bool interleaved = false;                         // gate and up; or in halves
  float limit = 0.0f;                               // 0: none
  float alpha = 1.0f;
  int64_t width = 0;
  int experts = 0;
  const int32_t* begins = nullptr;
  int64_t most_rows = 0;
  const int32_t* row_pairs = nullptr;
  const float* weights = nullptr;
};

struct ExpertGluForwardLaunch {
  ExpertGluRows rows;
  const uint16_t* gate_up = nullptr;
  uint16_t* output = nullptr;
};
CudaResult LaunchExpertGluForward(const ExpertGluForwardLaunch& args, CUstream_st* stream);

struct ExpertGluBackwardLaunch {
  ExpertGluRows rows;
  const uint16_t* gate_up = nullptr;
  const uint16_t* output_gradient = nullptr;
  uint16_t* output = nullptr;  // null: not stored
  uint16_t* gate_up_gradient = nullptr;
  float* weight_gradient = nullptr;
  const uint16_t* down_bias = nullptr;  // null: none
  int64_t down_bias_expert_stride = 0;
  int64_t hidden = 0;
  const uint16_t* down_gradient = nullptr;
  const int32_t* row_tokens = nullptr;
};
CudaResult LaunchExpertGluBackward(const ExpertGluBackwardLaunch& args, CUstream_st* stream);

}  // namespace horizon
