#pragma once

#include <cstdint>

namespace horizon {

// Where a kernel stores the gradient of some parameters: as bf16, to be copied to the host after
// each micro-batch, or added to an fp32 sum that stays on the device (gradient accumulation).
//
// The kernel first computes in fp32 the whole gradient g of a parameter over one micro-batch. Then
// it stores
//   bf16 != null:  bf16[i] = g rounded to the nearest bf16, ties to even;
//   sum != null:   sum[i] = r(g), or sum[i] + r(g) if `add`. r rounds to bf16 and back if
//   `rounded`;
//                  otherwise it changes nothing.
// Exactly one of the two pointers is set. With `rounded`, micro-batches summed on the device give
// the bits of bf16 gradients summed on the host. Some kernels also accept a GradientOut with
// neither pointer: the parameters are frozen, and their gradient is not computed.
struct GradientOut {
  float* sum = nullptr;
  uint16_t* bf16 = nullptr;
  bool add = false;
  bool rounded = false;

  // Whether a gradient is to be computed. If not, the parameters are frozen.
  bool is_needed() const { return sum != nullptr || bf16 != nullptr; }

  // The gradient of the parameters from number `elements` on.
  GradientOut From(int64_t elements) const {
    GradientOut out = *this;
    if (out.sum != nullptr) out.sum += elements;
    if (out.bf16 != nullptr) out.bf16 += elements;
    return out;
  }
};

}  // namespace horizon
