// How device code stores finished sums as GradientOut says, with the bits of the host bodies.
#pragma once

#include "kernels/arguments/gradient_out.h"
#include "kernels/cuda/cuda_eight.cuh"

namespace horizon {

__device__ __forceinline__ void StoreGradientValue(const GradientOut& out, int64_t i, float value) {
  if (out.leaving != nullptr) {
    out.leaving[i] = Bf16Of(value);
    return;
  }
  const float stored = out.rounded ? FloatOf(Bf16Of(value)) : value;
  out.sum[i] = out.add ? __fadd_rn(out.sum[i], stored) : stored;
}

// Of parameters i, i + 1, ...
__device__ __forceinline__ void StoreGradientEight(const GradientOut& out, int64_t i,
                                                   Eight<float> values, int64_t count, bool whole) {
  if (out.leaving != nullptr) {
    StoreNumbers(out.leaving + i, values, count, whole);
    return;
  }
  if (out.rounded) {
#pragma unroll
    for (int j = 0; j < 8; ++j) values[j] = FloatOf(Bf16Of(values[j]));
  }
  if (out.add) {
    const Eight<float> before = LoadEight(out.sum + i, count, whole);
#pragma unroll
    for (int j = 0; j < 8; ++j) values[j] = __fadd_rn(before[j], values[j]);
  }
  StoreEight(out.sum + i, values, count, whole);
}

inline bool IsEightAligned(const GradientOut& out) {
  return IsEightAligned(out.sum) && IsEightAligned(out.leaving);
}

}  // namespace horizon
