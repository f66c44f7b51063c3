#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/optimizer/adam_update.h"

namespace horizon {

// AdamW (Loshchilov & Hutter 2019, as torch.optim.AdamW computes it) on a run of parameters of one
// tensor, the clip factor folded in. In fp32, for each parameter, every operation rounded in the
// order written and none fused, so that any cut gives the same bits:
//   g = clip x gradient
//   w = keep x w
//   m = m + (1 - beta1) x (g - m)
//   v = beta2 x v + ((1 - beta2) x g) x g
//   w = w - (rate x m) / (sqrt(v) x inverse_root_correction2 + epsilon)
// The constants (keep, 1 - beta1, ...) are computed in double from the step number and rounded to
// fp32 once: AdamConstantsOf. Denormal numbers count as they are.
struct AdamSettings {
  double learning_rate = 1e-4;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;  // 0 for tensors that do not decay
  int64_t step = 1;            // counted from 1
};
AdamConstants AdamConstantsOf(const AdamSettings& settings);

// OutOfRange, naming the lowest number of a parameter whose new master would not be finite as bf16;
// the arrays then hold nothing of use. Gradients are finite: the caller has looked. (Others lead to
// OutOfRange or to moments that are not finite.)
absl::Status AdamUpdateReference(const KernelContext& context, const AdamUpdate& args);  // double
absl::Status AdamUpdateScalar(const KernelContext& context, const AdamUpdate& args);  // float, bits
absl::Status AdamUpdateHost(const KernelContext& context, const AdamUpdate& args);
// The same bits, of arrays in device memory; put on the context's stream, which it does not wait
// for, so what is out of range is told by args.first_refused. Unavailable without a CUDA device.
absl::Status AdamUpdateCuda(const KernelContext& context, const AdamUpdate& args);
// The OutOfRange of all of them. What first_refused holds is a parameter's number, or all ones.
absl::Status RefusedUpdate(uint64_t parameter);
inline constexpr uint64_t kNothingRefused = ~uint64_t{0};

}  // namespace horizon
