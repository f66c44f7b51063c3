#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/arguments/gradient_out.h"

namespace horizon {

// Arithmetic that the reference kernels share: bf16 computed from its values instead of its bits,
// and how a gradient is stored. Host and CUDA kernels use none of it, so that they are checked
// against other code.

inline float ReferenceFromBf16(uint16_t half) { return std::bit_cast<float>(uint32_t{half} << 16); }

// Rounds to the nearest bf16, ties to even: the bf16 numbers of one binade are `unit` apart. NaN
// and infinities stay.
inline uint16_t ReferenceToBf16(float value) {
  float nearest = value;
  if (std::isfinite(value) && value != 0.0f) {
    const double unit = std::ldexp(1.0, std::max(std::ilogb(value), -126) - 7);
    const double rounded = std::nearbyint(static_cast<double>(value) / unit) * unit;
    // The least magnitude past the largest bf16 is 2^128.
    nearest = std::fabs(rounded) >= std::ldexp(1.0, 128)
                  ? std::copysign(std::numeric_limits<float>::infinity(), value)
                  : static_cast<float>(rounded);
  } else if (std::isnan(value)) {
    nearest = std::copysign(std::numeric_limits<float>::quiet_NaN(), value);
  }
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(nearest) >> 16);
}

// Stores the finished gradient g of parameter i as GradientOut says.
inline void ReferenceStoreGradient(const GradientOut& out, int64_t i, double g) {
  const float sum = static_cast<float>(g);
  if (out.bf16 != nullptr) {
    out.bf16[i] = ReferenceToBf16(sum);
    return;
  }
  const float stored = out.rounded ? ReferenceFromBf16(ReferenceToBf16(sum)) : sum;
  out.sum[i] = out.add ? out.sum[i] + stored : stored;
}

}  // namespace horizon
