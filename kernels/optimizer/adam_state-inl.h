// How the host body of AdamW loads and stores the state of a parameter, one SIMD vector at a time:
// first the split fp32 master (split_master.h), then the moments in each of their formats
// (adam_moments.h). Include it as simd_math-inl.h says.

#if defined(HORIZON_KERNELS_ADAM_STATE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HORIZON_KERNELS_ADAM_STATE_INL_H_
#undef HORIZON_KERNELS_ADAM_STATE_INL_H_
#else
#define HORIZON_KERNELS_ADAM_STATE_INL_H_
#endif

#undef HORIZON_ADAM_PAIRS

#include "hwy/highway.h"
#include "kernels/host/simd_math-inl.h"
#include "kernels/optimizer/adam_moments.h"
#include "kernels/optimizer/adam_update.h"

HWY_BEFORE_NAMESPACE();
namespace horizon {
namespace HWY_NAMESPACE {

// ---- Masters ----

// Stores the weights in the form that compute reads, if args.weights is set.
HWY_INLINE void StoreWeights(const AdamUpdate& args, int64_t i, int64_t n, F32Vec w) {
  const U32 u32;
  if (args.weights == nullptr) return;
  if (args.lo == nullptr || args.weights_from_hi) {
    const U32Vec rounded = hn::Add(hn::BitCast(u32, w), hn::Set(u32, 0x8000));
    w = hn::BitCast(F32(), hn::And(rounded, hn::Set(u32, 0xFFFF0000)));
  }
  StorePart(F32(), w, args.weights + i, n);
}

// Loads and stores n (1 .. kF32Lanes) masters from parameter i of the call on.
HWY_INLINE F32Vec LoadMasters(const AdamUpdate& args, int64_t i, int64_t n) {
  I32Vec bits = hn::BitCast(I32(), ExpandBf16(LoadPart(U16(), args.hi + i, n)));
  if (args.lo != nullptr) {
    bits = hn::Add(bits, hn::PromoteTo(I32(), LoadPart(I16(), args.lo + i, n)));
  }
  return hn::BitCast(F32(), bits);
}
HWY_INLINE void StoreMasters(const AdamUpdate& args, int64_t i, int64_t n, F32Vec w) {
  const U32 u32;
  const I32 i32;
  const U32Vec bits = hn::BitCast(u32, w);
  StorePart(U16(), UpperHalves(hn::Add(bits, hn::Set(u32, 0x8000))), args.hi + i, n);
  if (args.lo != nullptr) {
    const I32Vec low = hn::ShiftRight<16>(hn::BitCast(i32, hn::ShiftLeft<16>(bits)));
    StorePart(I16(), hn::DemoteTo(I16(), low), args.lo + i, n);
  }
  StoreWeights(args, i, n, w);
}

// Loads and stores two vectors at a time. The high halves of both fill one vector, and so do the
// low halves, so that 16-bit arithmetic joins and splits them, with less than half the
// instructions. The bits of a master are hi - (lo < 0) above and lo below. Vectors of 64 bytes need
// this less, and interleave their 16-byte blocks in another way.
#if HWY_MAX_BYTES == 16 || HWY_MAX_BYTES == 32
#define HORIZON_ADAM_PAIRS 1
using PairU16 = hn::Repartition<uint16_t, F32>;
using PairI16 = hn::Repartition<int16_t, F32>;

struct F32Pair {
  F32Vec first;
  F32Vec second;
};

HWY_INLINE F32Pair LoadMasterPair(const AdamUpdate& args, int64_t i) {
  const PairI16 i16;
  hn::Vec<PairI16> upper = hn::BitCast(i16, hn::LoadU(PairU16(), args.hi + i));
  hn::Vec<PairI16> lower = hn::Zero(i16);
  if (args.lo != nullptr) {
    lower = hn::LoadU(i16, args.lo + i);
    upper = hn::Add(upper, hn::ShiftRight<15>(lower));
  }
  // The lower and the upper half of each 16-byte block of the vectors.
  const F32Vec low = hn::BitCast(F32(), hn::InterleaveLower(i16, lower, upper));
  const F32Vec high = hn::BitCast(F32(), hn::InterleaveUpper(i16, lower, upper));
#if HWY_MAX_BYTES == 16
  return {low, high};
#else
  return {hn::ConcatLowerLower(F32(), high, low), hn::ConcatUpperUpper(F32(), high, low)};
#endif
}

HWY_INLINE void StoreMasterPair(const AdamUpdate& args, int64_t i, const F32Pair& w) {
  const PairI16 i16;
  const hn::Vec<PairI16> first = hn::BitCast(i16, w.first);
  const hn::Vec<PairI16> second = hn::BitCast(i16, w.second);
  const hn::Vec<PairI16> upper = hn::ConcatOdd(i16, second, first);
  const hn::Vec<PairI16> lower = hn::ConcatEven(i16, second, first);
  const hn::Vec<PairI16> hi = hn::Sub(upper, hn::ShiftRight<15>(lower));
  hn::StoreU(hn::BitCast(PairU16(), hi), PairU16(), args.hi + i);
  if (args.lo != nullptr) hn::StoreU(lower, i16, args.lo + i);
  StoreWeights(args, i, kF32Lanes, w.first);
  StoreWeights(args, i + kF32Lanes, kF32Lanes, w.second);
}
#else
#define HORIZON_ADAM_PAIRS 0
#endif

// ---- Random bits (adam_moments.h) ----

// The SIMD lane numbers 0, 1, ... They are made once per run, because Iota goes through memory.
HWY_INLINE U32Vec LaneNumbers() { return hn::Iota(U32(), 0); }

// The random bits of the parameters i, i + 1, ... of the seed's run.
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

// ---- Moments ----

using U8 = hn::Rebind<uint8_t, F32>;

// Encodes and decodes 8-bit codes: small floats with 3 bits of mantissa and a least binade that
// begins at 2^kLeast. The code of a number below 2^kLeast comes from the fp32 bits of its sum with
// 2^kLeast, because the unit of that sum is the unit of the code.
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

// The moments of one vector of parameters.
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

// One moment block of 8-bit moments. The new moments stay in fp32 until the largest of the block is
// known.
struct QuantizedMoments {
  const uint8_t* m;
  const uint8_t* v;
  float m_scale;
  float v_scale;
  float* new_m;  // kAdamBlock elements, aligned; so is new_v
  float* new_v;
  I32Vec* largest_m;  // fp32 bits of the largest magnitudes so far
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

#endif  // HORIZON_KERNELS_ADAM_STATE_INL_H_
