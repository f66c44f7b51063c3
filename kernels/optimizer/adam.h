#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/optimizer/adam_update.h"

namespace horizon {

// AdamW (Loshchilov & Hutter 2019, as torch.optim.AdamW computes it) on a run of parameters of one
// tensor, with gradient clipping folded in. For each parameter with weight w, first moment m and
// second moment v:
//   g = clip x gradient
//   w = decay_factor x w
//   m = m + (1 - beta1) x (g - m)
//   v = beta2 x v + ((1 - beta2) x g) x g
//   w = w - (step_size x m) / (sqrt(v) x inverse_sqrt_bias_correction2 + epsilon)
// The arithmetic is fp32. Every operation is rounded in the order written and none is fused, so the
// bits do not depend on how a tensor is cut into runs. Denormal numbers count as they are.
//
// One step of a tensor with bf16 gradients and fp32 moments:
//   const AdamUpdate update = {
//       .count = count,
//       .constants = AdamConstantsOf({.learning_rate = 1e-4, .step = step}),
//       .step = step,
//       .clip = clip_factor,  // 1 without gradient clipping
//       .gradient_bf16 = gradient,
//       .hi = hi, .lo = lo,  // the split fp32 master
//       .m = m, .v = v};     // zero bytes before the first step
//   RETURN_IF_ERROR(AdamUpdateHost(context, update));
//
// To read all of it in one sitting, take these files in this order:
//   adam.h             the algorithm and its settings
//   adam_update.h      the arguments of a call
//   adam_moments.h     how moments are stored in fp32, bf16 or 8 bits, and rounded stochastically
//   adam_scalar.cc     the whole update in plain C++, one parameter after another
// The other files compute the same faster, or check it:
//   adam_host.cc       worker threads and SIMD; adam_state-inl.h loads and stores its vectors
//   adam_cuda.cu       device code; adam_cuda.cc checks arguments and calls adam_launch.h
//   adam_reference.cc  the formulas in double, which tests compare with within a tolerance
struct AdamSettings {
  double learning_rate = 1e-4;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;  // 0 for tensors without weight decay
  int64_t step = 1;            // counted from 1
};
AdamConstants AdamConstantsOf(const AdamSettings& settings);

// Each body updates weights and moments in place. It returns OutOfRange if the new master of a
// parameter would not be finite as bf16; the message names the lowest such parameter by its number
// in the tensor, and the arrays then hold nothing of use. The caller has checked that all gradients
// are finite. (Others lead to OutOfRange or to moments that are not finite.)
//
// AdamUpdateScalar is the oracle of the bits: the host and CUDA bodies give exactly its results. It
// shares no code with them. AdamUpdateReference computes in double, so its results differ in the
// last places.
absl::Status AdamUpdateReference(const KernelContext& context, const AdamUpdate& args);
absl::Status AdamUpdateScalar(const KernelContext& context, const AdamUpdate& args);
absl::Status AdamUpdateHost(const KernelContext& context, const AdamUpdate& args);
// Puts the update on the context's stream and does not wait for it. A parameter that is out of
// range is therefore reported through args.first_refused. Unavailable without a CUDA device.
absl::Status AdamUpdateCuda(const KernelContext& context, const AdamUpdate& args);

// The OutOfRange error of all bodies, for a caller that has read *first_refused.
absl::Status RefusedUpdate(uint64_t parameter);
// The value of *first_refused when every parameter was updated.
inline constexpr uint64_t kNothingRefused = ~uint64_t{0};

}  // namespace horizon
