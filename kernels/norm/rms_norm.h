#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/arguments/gradient_out.h"
#include "kernels/arguments/values.h"

namespace horizon {

// RMSNorm over rows of `width` values: y = x * inverse_rms * (weight_offset + weight) with
// inverse_rms = 1 / sqrt(mean(x^2) + epsilon). weight_offset is 0 in most models and 1 in Gemma.
// Rows are hidden states (rows = tokens) or, for q/k norms, heads (rows = tokens x heads). Arrays
// are contiguous, [rows, width]. The sums of a row have a fixed order.
struct RmsNormForward {
  int64_t rows = 0;
  int64_t width = 0;
  float epsilon = 1e-6f;
  float weight_offset = 0.0f;
  ConstValues x;
  ConstValues weight;            // [width]
  Values y;                      // may be x
  float* inverse_rms = nullptr;  // [rows]; null: not stored
};
absl::Status RmsNormForwardReference(const KernelContext& context, const RmsNormForward& args);
absl::Status RmsNormForwardHost(const KernelContext& context, const RmsNormForward& args);
// This holds for the CUDA kernels of all headers: activations and weights are bf16 arrays in device
// memory. The work goes on the context's stream, and the function does not wait for it. It returns
// InvalidArgument for arguments that it does not support, and Unavailable without a CUDA device.
absl::Status RmsNormForwardCuda(const KernelContext& context, const RmsNormForward& args);

// Recomputes y from x and the stored inverse_rms, for a backward pass that has not kept y. The
// result has the bits of forward.
struct RmsNormRecompute {
  int64_t rows = 0;
  int64_t width = 0;
  float weight_offset = 0.0f;
  ConstValues x;
  const float* inverse_rms = nullptr;
  ConstValues weight;
  Values y;
};
absl::Status RmsNormRecomputeReference(const KernelContext& context, const RmsNormRecompute& args);
absl::Status RmsNormRecomputeHost(const KernelContext& context, const RmsNormRecompute& args);
absl::Status RmsNormRecomputeCuda(const KernelContext& context, const RmsNormRecompute& args);

// The gradients of x and of the weight. One of them may be omitted; the other one then has the same
// bits as with both. InvalidArgument if both are omitted.
struct RmsNormBackward {
  int64_t rows = 0;
  int64_t width = 0;
  float weight_offset = 0.0f;
  ConstValues x;
  const float* inverse_rms = nullptr;
  ConstValues weight;  // [width], needed for x_gradient only
  ConstValues y_gradient;
  ConstValues residual_gradient;  // [rows, width], added to x_gradient; null: none
  // May be residual_gradient or y_gradient. Null: nothing before the norm is trained.
  Values x_gradient;
  // The rows of a tile of 64 are added in fp32, and the tiles in fp64, both in ascending order.
  // With neither pointer set the weight is frozen, and no scratch is needed.
  GradientOut weight_gradient;
};
absl::Status RmsNormBackwardReference(const KernelContext& context, const RmsNormBackward& args);
absl::Status RmsNormBackwardHost(const KernelContext& context, const RmsNormBackward& args);
// The weight gradient is summed in the order of the host kernel; the same numbers give its bits. It
// needs a device workspace of LeastColumnScratchBytes(width) (cuda_column_scratch.h) or more.
// Without a weight gradient no workspace is used.
absl::Status RmsNormBackwardCuda(const KernelContext& context, const RmsNormBackward& args);

// The number that all bodies add to each weight. For an offset of 0 it is -0, because adding -0
// leaves the bits of every weight unchanged, while adding 0 would turn a weight of -0 into 0.
inline float AddedToWeights(float weight_offset) {
  return weight_offset == 0.0f ? -0.0f : weight_offset;
}

}  // namespace horizon
