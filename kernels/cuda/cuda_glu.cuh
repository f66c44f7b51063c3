// The activations of gated linear units (glu_activation.h) and their derivatives in device code.
#pragma once

#include "kernels/activation/glu_activation.h"
#include "kernels/cuda/cuda_launch.cuh"

namespace horizon {

// 1 / (1 + e^-x): no overflow on either side.
__device__ __forceinline__ float Sigmoid(float x) {
  return __fdiv_rn(1.0f, __fadd_rn(1.0f, expf(-x)));
}

__device__ __forceinline__ float GeluBounded(float gate) {
  return fminf(fmaxf(gate, -kGeluBound), kGeluBound);
}

// The sigmoid that a gate is multiplied with.
template <GluActivation kActivation>
__device__ __forceinline__ float SigmoidOf(float gate) {
  if constexpr (kActivation == GluActivation::kSilu) {
    return Sigmoid(gate);
  } else {
    const float bounded = GeluBounded(gate);
    const float cubic = __fmul_rn(kGeluCubic, __fmul_rn(bounded, bounded));
    return Sigmoid(__fmul_rn(bounded, __fadd_rn(kGeluLinear, cubic)));
  }
}

// The derivative of the activation, value = gate x sigmoid: by the product rule, with
// sigmoid' = sigmoid (1 - sigmoid) times the derivative of its argument.
template <GluActivation kActivation>
__device__ __forceinline__ float SlopeOf(float gate, float sigmoid, float value) {
  if constexpr (kActivation == GluActivation::kSilu) {
    return __fmaf_rn(value, __fsub_rn(1.0f, sigmoid), sigmoid);
  } else {
    const float bounded = GeluBounded(gate);
    const float cubic = __fmul_rn(3.0f * kGeluCubic, __fmul_rn(bounded, bounded));
    return __fmaf_rn(__fmul_rn(value, __fsub_rn(1.0f, sigmoid)), __fadd_rn(kGeluLinear, cubic),
                     sigmoid);
  }
}

}  // namespace horizon
