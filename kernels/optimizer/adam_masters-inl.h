// How the host body of Adam loads and stores masters. Include as simd_math-inl.h.

#if defined(HORIZON_KERNELS_ADAM_MASTERS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HORIZON_KERNELS_ADAM_MASTERS_INL_H_
#undef HORIZON_KERNELS_ADAM_MASTERS_INL_H_
#else
#define HORIZON_KERNELS_ADAM_MASTERS_INL_H_
#endif

#undef HORIZON_ADAM_PAIRS

#include "hwy/highway.h"
#include "kernels/host/simd_math-inl.h"
#include "kernels/optimizer/adam.h"

HWY_BEFORE_NAMESPACE();
namespace horizon {
namespace HWY_NAMESPACE {

// Also the weights as compute reads them, where they are wanted.
HWY_INLINE void StoreWeights(const AdamUpdate& args, int64_t i, int64_t n, F32Vec w) {
  const U32 u32;
  if (args.weights == nullptr) return;
  if (args.lo == nullptr || args.weights_from_hi) {
    const U32Vec rounded = hn::Add(hn::BitCast(u32, w), hn::Set(u32, 0x8000));
    w = hn::BitCast(F32(), hn::And(rounded, hn::Set(u32, 0xFFFF0000)));
  }
  StorePart(F32(), w, args.weights + i, n);
}

// One vector.
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

// Two vectors at a time: their halves fill one vector each, and are joined and parted in 16-bit
// arithmetic, with less than half the instructions. The bits of a master are hi - (lo < 0) above
// and lo below. Vectors of 64 bytes need it less, and interleave their blocks in another way.
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
  // Of each block of 16 bytes the lower half and the upper.
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

}  // namespace HWY_NAMESPACE
}  // namespace horizon
HWY_AFTER_NAMESPACE();

#endif  // HORIZON_KERNELS_ADAM_MASTERS_INL_H_
