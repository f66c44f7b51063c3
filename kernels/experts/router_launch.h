#pragma once

#include <cstdint>

#include "common/cuda_result.h"
#include "kernels/arguments/token_record.h"

struct CUstream_st;

namespace horizon {

// These functions launch the kernels of router_cuda.cu on the stream and return the result of the
// launches, without waiting. bf16 is uint16_t, and all pointers are to device memory. There is at
// least one expert.

// The most experts of which the registers of a warp hold the logits.
inline constexpr int kMostRouterExperts = 512;

// There is at least one token.
struct RouterForwardLaunch {
  bool softmax_of_all = false;  // or of the chosen experts
  int64_t tokens = 0;
  int experts = 0;
  int per_token = 0;
  const float* logits = nullptr;
  const uint16_t* bias = nullptr;  // null: none
  float* probabilities = nullptr;
  int32_t* chosen = nullptr;
  float* weights = nullptr;
};
CudaResult LaunchRouterForward(const RouterForwardLaunch& args, CUstream_st* stream);

// There is at least one token.
struct RouterBackwardLaunch {
  bool softmax_of_all = false;
  int64_t tokens = 0;
  int64_t experts = 0;
  int64_t per_token = 0;
  const float* probabilities = nullptr;
  const int32_t* chosen = nullptr;
  const float* weights = nullptr;
  const float* weight_gradient = nullptr;
  const float* probability_gradient = nullptr;  // null: none
  const TokenRecord* records = nullptr;
  uint16_t* logit_gradient = nullptr;
};
CudaResult LaunchRouterBackward(const RouterBackwardLaunch& args, CUstream_st* stream);

// There may be no tokens.
struct RouterStatisticsLaunch {
  int64_t tokens = 0;
  int experts = 0;
  int64_t per_token = 0;
  const TokenRecord* records = nullptr;
  const float* probabilities = nullptr;
  const int32_t* chosen = nullptr;
  int64_t* counts = nullptr;
  double* probability_sums = nullptr;
};
CudaResult LaunchRouterStatistics(const RouterStatisticsLaunch& args, CUstream_st* stream);

// There may be no layers.
struct RouterLossGradientLaunch {
  int64_t layers = 0;
  int64_t experts = 0;
  const int64_t* counts = nullptr;
  int64_t layer_stride = 0;
  double scale = 0;
  float* gradient = nullptr;
};
CudaResult LaunchRouterLossGradient(const RouterLossGradientLaunch& args, CUstream_st* stream);

}  // namespace horizon
