#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/activation/glu_activation.h"
#include "kernels/arguments/values.h"

namespace horizon {

// The gated linear unit of experts, on the rows of some experts (dispatch.h), times the routing
// weight of each row:
//
//   output[r, j] = weight[r] x glu(gate[r, j], up[r, j])
//
// The weight is applied here, before the down projection, because then the experts' outputs need
// only be added up, and the gradient of the weight is a dot product of `width` values that backward
// has at hand. glu is
//   without a limit:  activation(gate) x up
//   with a limit L:   g x sigmoid(alpha g) x (u + 1), g = min(gate, L), u = up clamped to [-L, L]
//                     (gpt_oss). Where a value was clamped its gradient is 0.

// How gate and up of a row are stored in its 2 x width values.
enum class GateUpLayout : uint8_t {
  kHalves,       // gate, then up
  kInterleaved,  // gate at even places, up at odd ones (gpt_oss)
};

struct ExpertGluShape {
  GluActivation activation = GluActivation::kSilu;  // without a limit
  GateUpLayout layout = GateUpLayout::kHalves;
  float limit = 0.0f;  // 0: none
  float alpha = 1.0f;
  int64_t width = 0;
  int64_t experts = 0;              // the call does the rows begins[0] .. begins[experts]
  const int32_t* begins = nullptr;  // [experts + 1]
  int64_t most_rows = 0;
  const int32_t* row_pairs = nullptr;  // [most_rows]
  const float* weights = nullptr;      // by pair
};

struct ExpertGluForward {
  ExpertGluShape shape;
  ConstValues gate_up;  // [most_rows, 2 x width]
  Values output;        // [most_rows, width]
};
absl::Status ExpertGluForwardReference(const KernelContext& context, const ExpertGluForward& args);
absl::Status ExpertGluForwardHost(const KernelContext& context, const ExpertGluForward& args);
// Arrays are bf16; width is a multiple of 8. See rms_norm.h for what all CUDA kernels have in
// common.
absl::Status ExpertGluForwardCuda(const KernelContext& context, const ExpertGluForward& args);

// The gradients of gate, up and the routing weights, from the gradient of the output.
//
// The down projection may have a bias b_e, which enters the result of the stage weight[r] times.
// Its part of the weight's gradient, the dot product of b_e and the gradient of what the stage
// adds, is added here too.
struct ExpertGluBackward {
  ExpertGluShape shape;
  ConstValues gate_up;               // of forward
  ConstValues output_gradient;       // [most_rows, width]
  Values output;                     // if not null: recomputed here, with the bits of forward
  Values gate_up_gradient;           // [most_rows, 2 x width]
  float* weight_gradient = nullptr;  // by pair, written
  // The down projection's bias, [hidden] of the first expert; null: none. down_gradient
  // [tokens, hidden] is the gradient of what the stage adds, and row_tokens the token of each row.
  ConstValues down_bias;
  int64_t down_bias_expert_stride = 0;
  int64_t hidden = 0;
  ConstValues down_gradient;
  const int32_t* row_tokens = nullptr;
};
absl::Status ExpertGluBackwardReference(const KernelContext& context,
                                        const ExpertGluBackward& args);
absl::Status ExpertGluBackwardHost(const KernelContext& context, const ExpertGluBackward& args);
absl::Status ExpertGluBackwardCuda(const KernelContext& context, const ExpertGluBackward& args);

}  // namespace horizon
