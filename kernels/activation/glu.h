#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/activation/glu_activation.h"
#include "kernels/arguments/values.h"

namespace horizon {

// The gated linear unit of a feed-forward layer (SwiGLU, GeGLU): output = activation(gate) x up,
// element by element.
struct GluForward {
  GluActivation activation = GluActivation::kSilu;
  int64_t count = 0;  // elements of each array
  ConstValues gate;
  ConstValues up;
  Values output;
};
absl::Status GluForwardReference(const KernelContext& context, const GluForward& args);
absl::Status GluForwardHost(const KernelContext& context, const GluForward& args);
// Arrays are bf16 in device memory. See rms_norm.h for what all CUDA kernels have in common.
absl::Status GluForwardCuda(const KernelContext& context, const GluForward& args);

// The gradients of gate and up, from the gradient of the output.
struct GluBackward {
  GluActivation activation = GluActivation::kSilu;
  int64_t count = 0;
  ConstValues gate;
  ConstValues up;
  ConstValues output_gradient;
  Values output;         // if not null: recomputed here, with the bits of forward
  Values gate_gradient;  // may be output_gradient
  Values up_gradient;
};
absl::Status GluBackwardReference(const KernelContext& context, const GluBackward& args);
absl::Status GluBackwardHost(const KernelContext& context, const GluBackward& args);
absl::Status GluBackwardCuda(const KernelContext& context, const GluBackward& args);

}  // namespace horizon
