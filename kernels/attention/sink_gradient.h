#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/arguments/gradient_out.h"
#include "kernels/arguments/values.h"

namespace horizon {

// The gradient of attention sinks (attention.h), a step of attention's backward. A sink is a score
// without a value, so its probability p gives the score the gradient p x (0 - dot), where dot is
// the dot product of output and output gradient:
//
//   gradient[h] = sum over tokens t of -exp(sinks[h] - log_sum_exp[t, h]) x output_dot[t, h]
//
// The tokens of a tile of 64 are added in fp32, and the tiles in fp64, both in ascending order. A
// micro-batch of several rows is one run of tokens.
struct SinkGradient {
  int64_t tokens = 0;
  int64_t heads = 0;
  ConstValues sinks;                   // [heads]
  const float* log_sum_exp = nullptr;  // [tokens, heads], with the sinks
  const float* output_dot = nullptr;   // [tokens, heads]
  GradientOut gradient;                // [heads]
};
absl::Status SinkGradientReference(const KernelContext& context, const SinkGradient& args);
// One worker sums kSinkStripHeads heads over all tokens. InvalidArgument for impossible sizes, and
// for heads without sinks.
absl::Status SinkGradientHost(const KernelContext& context, const SinkGradient& args);
inline constexpr int64_t kSinkStripHeads = 16;
// `sinks` is bf16 at any address. The sums need a device workspace of
// LeastColumnScratchBytes(heads) (cuda_column_scratch.h) or more, whose size does not change the
// bits. See rms_norm.h for what all CUDA kernels have in common.
absl::Status SinkGradientCuda(const KernelContext& context, const SinkGradient& args);

}  // namespace horizon
