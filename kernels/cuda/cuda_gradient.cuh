// Stores finished gradients in device code as GradientOut says, with the bits of the host kernels.
#pragma once

#include "kernels/arguments/gradient_out.h"
#include "kernels/cuda/cuda_thread_elements.cuh"

namespace horizon {

// Stores the gradient of parameter i.
__device__ __forceinline__ void StoreGradientValue(const GradientOut& out, int64_t i, float value) {
  if (out.bf16 != nullptr) {
    out.bf16[i] = Bf16Of(value);
    return;
  }
  const float stored = out.rounded ? FloatOf(Bf16Of(value)) : value;
  out.sum[i] = out.add ? __fadd_rn(out.sum[i], stored) : stored;
}

// Stores the gradients of parameters i, i + 1, ...; `count` and `whole` as in StoreElements.
__device__ __forceinline__ void StoreGradientElements(const GradientOut& out, int64_t i,
                                                      ThreadElements<float> values, int64_t count,
                                                      bool whole) {
  if (out.bf16 != nullptr) {
    StoreFromFloat(out.bf16 + i, values, count, whole);
    return;
  }
  if (out.rounded) {
#pragma unroll
    for (int j = 0; j < kElementsPerThread; ++j) values[j] = FloatOf(Bf16Of(values[j]));
  }
  if (out.add) {
    const ThreadElements<float> before = LoadElements(out.sum + i, count, whole);
#pragma unroll
    for (int j = 0; j < kElementsPerThread; ++j) values[j] = __fadd_rn(before[j], values[j]);
  }
  StoreElements(out.sum + i, values, count, whole);
}

// Stores the gradients of parameters i and i + 1 in one access; the array is aligned for it at i.
__device__ __forceinline__ void StoreGradientPair(const GradientOut& out, int64_t i, float left,
                                                  float right) {
  if (out.bf16 != nullptr) {
    StoreVector<2>(out.bf16 + i, Vector<uint16_t, 2>{{Bf16Of(left), Bf16Of(right)}});
    return;
  }
  Vector<float, 2> values = {{left, right}};
  if (out.rounded) values = {{FloatOf(Bf16Of(left)), FloatOf(Bf16Of(right))}};
  if (out.add) {
    const Vector<float, 2> before = LoadVector<2>(out.sum + i);
    values = {{__fadd_rn(before[0], values[0]), __fadd_rn(before[1], values[1])}};
  }
  StoreVector<2>(out.sum + i, values);
}

inline bool IsAlignedForVectors(const GradientOut& out) {
  return IsAlignedForVectors(out.sum) && IsAlignedForVectors(out.bf16);
}

}  // namespace horizon
