#pragma once

#include <cstdint>

namespace horizon {

// Where a kernel puts the gradient of some parameters. It has computed the whole sum g of one
// micro-batch for a parameter in fp32, and then stores
//   leaving != null:  leaving[i] = bf16(g), rounded to nearest even;
//   sum != null:      sum[i] = r(g), or sum[i] + r(g) when `add`, where r rounds to bf16 and back
//                     when `rounded`, and is the identity when not.
// Exactly one of the two pointers is set. So micro-batches summed on the device give the bits that
// rounded gradients summed on the host give. Some operations also take a GradientOut with neither:
// the parameters are frozen, and their gradient is not computed.
struct GradientOut {
  float* sum = nullptr;
  uint16_t* leaving = nullptr;
  bool add = false;
  bool rounded = false;

  // False: the parameters are frozen.
  bool wanted() const { return sum != nullptr || leaving != nullptr; }

  // The gradient of parameters that begin `elements` later.
  GradientOut From(int64_t elements) const {
    GradientOut out = *this;
    if (out.sum != nullptr) out.sum += elements;
    if (out.leaving != nullptr) out.leaving += elements;
    return out;
  }
};

}  // namespace horizon
