// SIMD code that the host kernels share, written with Highway. It is for a .cc file that
// hwy/foreach_target.h compiles once for each instruction set: include it after hwy/highway.h, and
// use it inside horizon::HWY_NAMESPACE between HWY_BEFORE_NAMESPACE() and HWY_AFTER_NAMESPACE().
//
// Results have the same bits whatever the instruction set and wherever an array is cut:
// - Element-wise operations also use vector code for a remainder that is shorter than a vector
//   (LoadPart, StorePart), so an element gives the same bits at any place of an array.
// - Sums have 16 logical lanes. A logical lane is one of 16 running sums, as if every processor had
//   SIMD vectors of 16 fp32 lanes: element i goes to logical lane i mod 16, whatever the real
//   vector length. A product is rounded before it is added (no fused multiply-add), and the logical
//   lanes are added in ascending order at the end. So a sum depends on the values and their count
//   alone.
// The exception is Exp, which uses fused multiply-add where the processor has it.

#if defined(HORIZON_KERNELS_SIMD_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HORIZON_KERNELS_SIMD_MATH_INL_H_
#undef HORIZON_KERNELS_SIMD_MATH_INL_H_
#else
#define HORIZON_KERNELS_SIMD_MATH_INL_H_
#endif

#include <cstdint>
#include <cstring>
#include <limits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "kernels/arguments/gradient_out.h"

// Write this after the parameters of a lambda for ForEachVector and similar functions. They call
// the lambda at two places, for whole vectors and for the remainder. Without this attribute the
// compiler makes one function of it, which has to test at every load how long the vector is.
#ifndef HORIZON_VECTOR_BODY
#define HORIZON_VECTOR_BODY HWY_ATTR __attribute__((always_inline))
#endif

HWY_BEFORE_NAMESPACE();
namespace horizon {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_HAVE_SCALABLE
#error "vectors whose length is known at run time alone cannot be kept in structs"
#endif

inline constexpr int64_t kLogicalLanes = 16;

// Highway tags and vectors: at most 16 fp32 values, integers with their bits, and vectors of 16-bit
// values with as many SIMD lanes.
using F32 = hn::CappedTag<float, kLogicalLanes>;
using I32 = hn::RebindToSigned<F32>;
using U32 = hn::RebindToUnsigned<F32>;
using U16 = hn::Rebind<uint16_t, F32>;
using I16 = hn::Rebind<int16_t, F32>;
using F32Vec = hn::Vec<F32>;
using I32Vec = hn::Vec<I32>;
using U32Vec = hn::Vec<U32>;
using U16Vec = hn::Vec<U16>;
// SIMD lanes of a vector of fp32, and vectors that hold the 16 logical lanes.
inline constexpr int64_t kF32Lanes = HWY_MIN(HWY_LANES(float), kLogicalLanes);
inline constexpr int64_t kLogicalLaneVectors = kLogicalLanes / kF32Lanes;
static_assert(kF32Lanes * kLogicalLaneVectors == kLogicalLanes);

// ---- Parts of arrays ----

// Load or store the first `count` values (1 .. SIMD lanes of d) of a vector, at any address aligned
// for T. Loaded lanes past `count` are `rest`. Memory past `count` values is not touched.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LoadPart(D d, const T* from, int64_t count, T rest = T{}) {
  if (hn::MaxLanes(d) == 1 || count >= static_cast<int64_t>(hn::Lanes(d))) {
    return hn::LoadU(d, from);
  }
  HWY_ALIGN T lanes[HWY_LANES(T)];
  hn::Store(hn::Set(d, rest), d, lanes);
  std::memcpy(lanes, from, static_cast<size_t>(count) * sizeof(T));
  return hn::Load(d, lanes);
}
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void StorePart(D d, hn::Vec<D> values, T* to, int64_t count) {
  if (hn::MaxLanes(d) == 1 || count >= static_cast<int64_t>(hn::Lanes(d))) {
    return hn::StoreU(values, d, to);
  }
  HWY_ALIGN T lanes[HWY_LANES(T)];
  hn::Store(values, d, lanes);
  std::memcpy(to, lanes, static_cast<size_t>(count) * sizeof(T));
}

// Calls body(index, count) for every vector of an array; the last one may be short.
template <class Body>
HWY_INLINE void ForEachVector(int64_t count, const Body& body) {
  int64_t i = 0;
  for (; i + kF32Lanes <= count; i += kF32Lanes) body(i, kF32Lanes);
  if (i < count) body(i, count - i);
}

// ---- bf16 ----

HWY_INLINE F32Vec ExpandBf16(U16Vec half) {
  return hn::BitCast(F32(), hn::ShiftLeft<16>(hn::PromoteTo(U32(), half)));
}

// The bits of the nearest bf16, ties to even, in the upper half of each SIMD lane; the lower half
// is zero. NaN stays NaN.
HWY_INLINE U32Vec Bf16Bits(F32Vec value) {
  const U32 u32;
  const U32Vec bits = hn::BitCast(u32, value);
  const U32Vec odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(u32, 1));
  const U32Vec rounded = hn::Add(bits, hn::Add(odd, hn::Set(u32, 0x7FFF)));
  const U32Vec quiet = hn::Or(bits, hn::Set(u32, 0x00400000));
  const U32Vec chosen = hn::IfThenElse(hn::RebindMask(u32, hn::IsNaN(value)), quiet, rounded);
  return hn::And(chosen, hn::Set(u32, 0xFFFF0000));
}
// Rounds to bf16 and back to fp32.
HWY_INLINE F32Vec RoundedToBf16(F32Vec value) { return hn::BitCast(F32(), Bf16Bits(value)); }

// The upper 16 bits of each SIMD lane.
HWY_INLINE U16Vec UpperHalves(U32Vec bits) {
  return hn::DemoteTo(U16(), hn::BitCast(I32(), hn::ShiftRight<16>(bits)));
}
HWY_INLINE U16Vec ToBf16(F32Vec value) { return UpperHalves(Bf16Bits(value)); }

// ---- Gradients ----

// Stores the finished gradients of parameters first, first + 1, ... as GradientOut says.
HWY_INLINE void StoreGradientVector(const GradientOut& out, int64_t first, F32Vec values,
                                    int64_t count) {
  if (out.bf16 != nullptr) {
    return StorePart(U16(), ToBf16(values), out.bf16 + first, count);
  }
  const F32 f32;
  if (out.rounded) values = RoundedToBf16(values);
  if (out.add) values = hn::Add(LoadPart(f32, out.sum + first, count), values);
  StorePart(f32, values, out.sum + first, count);
}

// The same for an array of gradients. `values` may be out.sum unless out.add.
HWY_INLINE void StoreGradients(const GradientOut& out, const float* values, int64_t count) {
  ForEachVector(count, [&](int64_t i, int64_t n) HORIZON_VECTOR_BODY {
    StoreGradientVector(out, i, LoadPart(F32(), values + i, n), n);
  });
}

// ---- Functions ----

// e^x within 2 ulp or so; 0 below -104, infinity above 88.8, NaN stays NaN.
HWY_INLINE F32Vec Exp(F32Vec x) {
  const F32 f32;
  const F32Vec bounded = hn::Min(hn::Max(x, hn::Set(f32, -105.0f)), hn::Set(f32, 90.0f));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(f32, bounded));
}

// e^x of x <= 88 within 2 ulp, for sums of exponentials: 0 below -87.3, where e^x is subnormal, and
// 1 at 0. NaN stays NaN. Exp takes about twice as many instructions.
HWY_INLINE F32Vec FastExp(F32Vec x) {
  const F32 f32;
  const I32 i32;
  // x = n log(2) + r with |r| <= log(2) / 2. Adding 1.5 x 2^23 rounds to an integer and leaves it
  // in the lower bits of the sum.
  const F32Vec magic = hn::Set(f32, 12582912.0f);
  const F32Vec shifted = hn::MulAdd(x, hn::Set(f32, 1.44269504f), magic);
  const F32Vec n = hn::Sub(shifted, magic);
  // log(2) in two parts, the first of which has so few bits that n times it is exact.
  const F32Vec high = hn::NegMulAdd(n, hn::Set(f32, 0.693359375f), x);
  const F32Vec r = hn::NegMulAdd(n, hn::Set(f32, -2.12194440e-4f), high);
  // (e^r - 1 - r) / r^2, from expf of the Cephes library (Moshier 1989).
  F32Vec p = hn::Set(f32, 1.9875691500e-4f);
  for (const float coefficient :
       {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f}) {
    p = hn::MulAdd(p, r, hn::Set(f32, coefficient));
  }
  p = hn::Add(hn::MulAdd(p, hn::Mul(r, r), r), hn::Set(f32, 1.0f));
  const I32Vec exponent = hn::ShiftLeft<23>(hn::BitCast(i32, shifted));
  const F32Vec power = hn::BitCast(f32, hn::Add(exponent, hn::Set(i32, 127 << 23)));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(f32, -87.3f)), hn::Mul(p, power));
}

// 1 / (1 + e^-x): no overflow on either side.
HWY_INLINE F32Vec Sigmoid(F32Vec x) {
  const F32Vec one = hn::Set(F32(), 1.0f);
  return hn::Div(one, hn::Add(one, Exp(hn::Neg(x))));
}

// x x sigmoid(x).
HWY_INLINE F32Vec Silu(F32Vec x) { return hn::Mul(x, Sigmoid(x)); }

// ---- Sums in a fixed order ----

// The 16 running values of a sum, or of a maximum: the caller updates them with hn::Add or hn::Max.
struct LogicalLanes {
  F32Vec vectors[kLogicalLaneVectors];

  HWY_INLINE explicit LogicalLanes(float begin) {
    for (F32Vec& vector : vectors) vector = hn::Set(F32(), begin);
  }

  // Adds the logical lanes in ascending order.
  HWY_INLINE float Sum() const {
    HWY_ALIGN float lanes[kLogicalLanes];
    Write(lanes);
    float sum = lanes[0];
    for (int64_t lane = 1; lane < kLogicalLanes; ++lane) sum += lanes[lane];
    return sum;
  }
  HWY_INLINE float Max() const {
    HWY_ALIGN float lanes[kLogicalLanes];
    Write(lanes);
    float max = lanes[0];
    for (int64_t lane = 1; lane < kLogicalLanes; ++lane) {
      max = lanes[lane] > max ? lanes[lane] : max;
    }
    return max;
  }

 private:
  HWY_INLINE void Write(float* lanes) const {
    for (int64_t j = 0; j < kLogicalLaneVectors; ++j) {
      hn::Store(vectors[j], F32(), lanes + j * kF32Lanes);
    }
  }
};

// Calls body(index, count, running) for every vector of an array, with the vector of running values
// that it belongs to: element i meets logical lane i mod 16. If the last vector is short, the body
// must leave the running values past `count` unchanged (add zero, take the maximum with -infinity).
template <class Body>
HWY_INLINE void ForEachVectorWithLanes(int64_t count, LogicalLanes& lanes, const Body& body) {
  int64_t i = 0;
  for (; i + kLogicalLanes <= count; i += kLogicalLanes) {
    for (int64_t j = 0; j < kLogicalLaneVectors; ++j) {
      body(i + j * kF32Lanes, kF32Lanes, lanes.vectors[j]);
    }
  }
  for (int64_t j = 0; i < count; ++j, i += kF32Lanes) {
    body(i, HWY_MIN(kF32Lanes, count - i), lanes.vectors[j]);
  }
}

// The sum of the values; 0 if there are none.
HWY_INLINE float Sum(const float* values, int64_t count) {
  LogicalLanes lanes(0.0f);
  ForEachVectorWithLanes(count, lanes,
                         [&](int64_t i, int64_t n, F32Vec& running) HORIZON_VECTOR_BODY {
                           running = hn::Add(running, LoadPart(F32(), values + i, n));
                         });
  return lanes.Sum();
}

// The dot product.
HWY_INLINE float Dot(const float* a, const float* b, int64_t count) {
  const F32 f32;
  LogicalLanes lanes(0.0f);
  ForEachVectorWithLanes(
      count, lanes, [&](int64_t i, int64_t n, F32Vec& running) HORIZON_VECTOR_BODY {
        running = hn::Add(running, hn::Mul(LoadPart(f32, a + i, n), LoadPart(f32, b + i, n)));
      });
  return lanes.Sum();
}

// The largest value; -infinity if there are none. The result for a NaN is unspecified.
HWY_INLINE float Max(const float* values, int64_t count) {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  LogicalLanes lanes(kNone);
  ForEachVectorWithLanes(count, lanes,
                         [&](int64_t i, int64_t n, F32Vec& running) HORIZON_VECTOR_BODY {
                           running = hn::Max(running, LoadPart(F32(), values + i, n, kNone));
                         });
  return lanes.Max();
}

// exps[i] = e^(values[i] - shift). Returns their sum. `exps` may be `values`.
HWY_INLINE float ExpShifted(const float* values, float shift, int64_t count, float* exps) {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  const F32 f32;
  LogicalLanes lanes(0.0f);
  ForEachVectorWithLanes(
      count, lanes, [&](int64_t i, int64_t n, F32Vec& running) HORIZON_VECTOR_BODY {
        const F32Vec value = hn::Sub(LoadPart(f32, values + i, n, kNone), hn::Set(f32, shift));
        const F32Vec e = Exp(value);
        StorePart(f32, e, exps + i, n);
        running = hn::Add(running, e);
      });
  return lanes.Sum();
}

}  // namespace HWY_NAMESPACE
}  // namespace horizon
HWY_AFTER_NAMESPACE();

#endif  // HORIZON_KERNELS_SIMD_MATH_INL_H_
