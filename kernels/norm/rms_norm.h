#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/arguments/gradient_out.h"
#include "kernels/arguments/values.h"

namespace horizon {

// RMSNorm over rows of `width` values: y = x * inverse_rms * (weight_offset + weight), inverse_rms
// = 1 / sqrt(mean(x^2) + epsilon). Most models have a weight_offset of 0; Gemma has 1. Of hidden
// states (rows = tokens) and, for q/k norm, of heads (rows = tokens x heads). Arrays are
// contiguous. A row's sums have a fixed order.
struct RmsNormForward {
  int64_t rows = 0;
  int64_t width = 0;
  float epsilon = 1e-6f;
  float weight_offset = 0.0f;
  ConstValues x;
  ConstValues weight;            // [width]
  Values y;                      // may be x
  float* inverse_rms = nullptr;  // [rows]; null: not wanted
};
absl::Status RmsNormForwardReference(const KernelContext& context, const RmsNormForward& args);
absl::Status RmsNormForwardHost(const KernelContext& context, const RmsNormForward& args);
// CUDA bodies here and elsewhere take arrays of bf16 in device memory, put their work on the
// context's stream and do not wait. InvalidArgument for what they do not take, Unavailable without
// a CUDA device.
absl::Status RmsNormForwardCuda(const KernelContext& context, const RmsNormForward& args);

// y again from x and the kept inverse_rms, with the bits forward gave.
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

// Two gradients, of which one may be left out; the other has the bits it has beside it.
// InvalidArgument when both are left out.
struct RmsNormBackward {
  int64_t rows = 0;
  int64_t width = 0;
  float weight_offset = 0.0f;
  ConstValues x;
  const float* inverse_rms = nullptr;
  ConstValues weight;  // read for x_gradient alone
  ConstValues y_gradient;
  ConstValues residual_gradient;  // [rows, width] added to x_gradient; null: none
  // May be residual_gradient or y_gradient. Null: nothing before the norm is trained.
  Values x_gradient;
  // Rows are summed in tiles of 64 (fp32), tiles in fp64, in ascending order. With neither pointer
  // set the weight is frozen, and no scratch is needed.
  GradientOut weight_gradient;
};
absl::Status RmsNormBackwardReference(const KernelContext& context, const RmsNormBackward& args);
absl::Status RmsNormBackwardHost(const KernelContext& context, const RmsNormBackward& args);
// The weight's gradient has the host's order and, of the same numbers, its bits. It is summed in
// the device workspace, LeastColumnScratchBytes(width) (cuda_column_scratch.h) or more; without it
// no workspace is used.
absl::Status RmsNormBackwardCuda(const KernelContext& context, const RmsNormBackward& args);

// What bodies add to each weight: for an offset of 0 it is -0, which leaves the bits of every
// weight as they are (0 + -0 would be 0).
inline float AddedToWeights(float weight_offset) {
  return weight_offset == 0.0f ? -0.0f : weight_offset;
}

}  // namespace horizon
