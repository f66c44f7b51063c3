// The activations of gated linear units in vector code, for the units of a layer (glu.h) and of
// experts. Include it as kernels/host/simd_math-inl.h.

#if defined(HORIZON_KERNELS_GLU_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HORIZON_KERNELS_GLU_VECTORS_INL_H_
#undef HORIZON_KERNELS_GLU_VECTORS_INL_H_
#else
#define HORIZON_KERNELS_GLU_VECTORS_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/activation/glu_activation.h"
#include "kernels/host/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace horizon {
namespace HWY_NAMESPACE {

HWY_INLINE F32Vec GeluBounded(F32Vec gate) {
  const F32 f32;
  return hn::Min(hn::Max(gate, hn::Set(f32, -kGeluBound)), hn::Set(f32, kGeluBound));
}

// The sigmoid that a gate is multiplied with.
template <GluActivation kActivation>
HWY_INLINE F32Vec SigmoidOf(F32Vec gate) {
  if constexpr (kActivation == GluActivation::kSilu) {
    return Sigmoid(gate);
  } else {
    const F32 f32;
    const F32Vec bounded = GeluBounded(gate);
    const F32Vec cubic = hn::Mul(hn::Set(f32, kGeluCubic), hn::Mul(bounded, bounded));
    return Sigmoid(hn::Mul(bounded, hn::Add(hn::Set(f32, kGeluLinear), cubic)));
  }
}

// The derivative of the activation, value = gate x sigmoid: by the product rule, with
// sigmoid' = sigmoid (1 - sigmoid) times the derivative of its argument.
template <GluActivation kActivation>
HWY_INLINE F32Vec SlopeOf(F32Vec gate, F32Vec sigmoid, F32Vec value) {
  const F32 f32;
  F32Vec of_sigmoid = hn::Mul(value, hn::Sub(hn::Set(f32, 1.0f), sigmoid));
  if constexpr (kActivation == GluActivation::kGeluTanh) {
    const F32Vec bounded = GeluBounded(gate);
    const F32Vec cubic = hn::Mul(hn::Set(f32, 3.0f * kGeluCubic), hn::Mul(bounded, bounded));
    of_sigmoid = hn::Mul(of_sigmoid, hn::Add(hn::Set(f32, kGeluLinear), cubic));
  }
  return hn::Add(sigmoid, of_sigmoid);
}

}  // namespace HWY_NAMESPACE
}  // namespace horizon
HWY_AFTER_NAMESPACE();

#endif  // HORIZON_KERNELS_GLU_VECTORS_INL_H_
