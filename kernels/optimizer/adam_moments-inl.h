// How the host body of Adam loads and stores moments (adam.h says what they look like). Include as
// simd_math-inl.h.

#if defined(HORIZON_KERNELS_ADAM_MOMENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HORIZON_KERNELS_ADAM_MOMENTS_INL_H_
#undef HORIZON_KERNELS_ADAM_MOMENTS_INL_H_
#else
#define HORIZON_KERNELS_ADAM_MOMENTS_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/host/simd_math-inl.h"
#include "kernels/optimizer/adam_random.h"

HWY_BEFORE_NAMESPACE();
namespace horizon {
namespace HWY_NAMESPACE {

using U8 = hn::Rebind<uint8_t, F32>;

// 0, 1, ...: made once, for Iota goes through memory.
HWY_INLINE U32Vec LaneNumbers() { return hn::Iota(U32(), 0); }

HWY_INLINE U32Vec RandomWords(const AdamSeed& seed, U32Vec lane_numbers, int64_t i) {
  const U32 u32;
  U32Vec x = hn::Add(lane_numbers, hn::Set(u32, seed.first + static_cast<uint32_t>(i)));
  x = hn::Xor(x, hn::Set(u32, seed.low));
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<16>(x)), hn::Set(u32, 0x7FEB352D));
  x = hn::Add(hn::Xor(x, hn::ShiftRight<15>(x)), hn::Set(u32, seed.high));
  x = hn::Mul(x, hn::Set(u32, 0x846CA68B));
  return hn::Xor(x, hn::ShiftRight<16>(x));
}
HWY_INLINE U32Vec WordOfM(U32Vec words) { return hn::ShiftRight<16>(words); }
HWY_INLINE U32Vec WordOfV(U32Vec words) { return hn::And(words, hn::Set(U32(), 0xFFFF)); }

// Codes with 3 bits of mantissa, the least binade beginning at 2^kLeast. A number below it has the
// bits of its sum with 2^kLeast, whose unit is the one wanted.
template <int kLeast>
struct SmallFloat {
  static constexpr uint32_t kBase = static_cast<uint32_t>(127 + kLeast) << 3;

  static HWY_INLINE F32Vec Least() { return hn::BitCast(F32(), hn::Set(U32(), kBase << 20)); }
  static HWY_INLINE F32Vec Decode(U32Vec codes) {
    const U32 u32;
    const auto small = hn::Lt(hn::BitCast(I32(), codes), hn::Set(I32(), 8));
    const U32Vec base =
        hn::IfThenElse(hn::RebindMask(u32, small), hn::Set(u32, kBase), hn::Set(u32, kBase - 8));
    const F32Vec units = hn::BitCast(F32(), hn::ShiftLeft<20>(hn::Add(codes, base)));
    return hn::Sub(units, hn::IfThenElseZero(hn::RebindMask(F32(), small), Least()));
  }
  static HWY_INLINE U32Vec Encode(F32Vec units, U32Vec words) {
    const U32 u32;
    const auto small = hn::Lt(units, Least());
    const F32Vec lifted = hn::Add(units, hn::IfThenElseZero(small, Least()));
    const U32Vec base =
        hn::IfThenElse(hn::RebindMask(u32, small), hn::Set(u32, kBase), hn::Set(u32, kBase - 8));
    const U32Vec added = hn::Add(hn::ShiftLeft<4>(words), hn::Set(u32, 8));
    return hn::Sub(hn::ShiftRight<20>(hn::Add(hn::BitCast(u32, lifted), added)), base);
  }
};
using CodesOfM = SmallFloat<-14>;
using CodesOfV = SmallFloat<-30>;

struct Moments {
  F32Vec m;
  F32Vec v;
};

struct Fp32Moments {
  float* m;
  float* v;

  HWY_INLINE Moments Load(int64_t i, int64_t n) const {
    return {LoadPart(F32(), m + i, n), LoadPart(F32(), v + i, n)};
  }
  HWY_INLINE void Store(int64_t i, int64_t n, const Moments& now) const {
    StorePart(F32(), now.m, m + i, n);
    StorePart(F32(), now.v, v + i, n);
  }
};

struct Bf16Moments {
  uint16_t* m;
  uint16_t* v;
  AdamSeed seed;
  U32Vec lane_numbers;

  HWY_INLINE Moments Load(int64_t i, int64_t n) const {
    return {ExpandBf16(LoadPart(U16(), m + i, n)), ExpandBf16(LoadPart(U16(), v + i, n))};
  }
  HWY_INLINE void Store(int64_t i, int64_t n, const Moments& now) const {
    const U32 u32;
    const U32Vec words = RandomWords(seed, lane_numbers, i);
    StorePart(U16(), UpperHalves(hn::Add(hn::BitCast(u32, now.m), WordOfM(words))), m + i, n);
    StorePart(U16(), UpperHalves(hn::Add(hn::BitCast(u32, now.v), WordOfV(words))), v + i, n);
  }
};

// A block: new moments are kept in fp32 until the largest is known.
struct BlockMoments {
  const uint8_t* m;
  const uint8_t* v;
  float m_scale;
  float v_scale;
  float* new_m;  // kAdamBlock of each, aligned
  float* new_v;
  I32Vec* largest_m;  // bits of magnitudes
  I32Vec* largest_v;

  HWY_INLINE Moments Load(int64_t i, int64_t n) const {
    const U32 u32;
    const U32Vec code = hn::PromoteTo(u32, LoadPart(U8(), m + i, n));
    const F32Vec units = CodesOfM::Decode(hn::And(code, hn::Set(u32, 0x7F)));
    const F32Vec sign = hn::BitCast(F32(), hn::ShiftLeft<31>(hn::ShiftRight<7>(code)));
    const U32Vec code_v = hn::PromoteTo(u32, LoadPart(U8(), v + i, n));
    return {hn::Or(hn::Mul(units, hn::Set(F32(), m_scale)), sign),
            hn::Mul(CodesOfV::Decode(code_v), hn::Set(F32(), v_scale))};
  }
  HWY_INLINE void Store(int64_t i, int64_t, const Moments& now) const {
    const I32 i32;
    hn::Store(now.m, F32(), new_m + i);
    hn::Store(now.v, F32(), new_v + i);
    *largest_m = hn::Max(*largest_m, hn::BitCast(i32, hn::Abs(now.m)));
    *largest_v = hn::Max(*largest_v, hn::BitCast(i32, hn::Abs(now.v)));
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace horizon
HWY_AFTER_NAMESPACE();

#endif  // HORIZON_KERNELS_ADAM_MOMENTS_INL_H_
