#include "common/check.h"
#include "kernels/host/pieces.h"
#include "kernels/optimizer/squared_norm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/optimizer/squared_norm_host.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/host/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace horizon {
namespace HWY_NAMESPACE {
namespace {

// Squares of fp32 values are exact in fp64, so a sum is rounded only where it is added to.
using F64 = hn::CappedTag<double, kLogicalLanes>;
using HalfF32 = hn::Rebind<float, F64>;
using HalfU32 = hn::Rebind<uint32_t, F64>;
using HalfU16 = hn::Rebind<uint16_t, F64>;
constexpr int64_t kF64Lanes = HWY_MIN(HWY_LANES(double), kLogicalLanes);
constexpr int64_t kF64Vectors = kLogicalLanes / kF64Lanes;

HWY_INLINE hn::Vec<F64> LoadWide(const float* values) {
  return hn::PromoteTo(F64(), hn::LoadU(HalfF32(), values));
}
HWY_INLINE hn::Vec<F64> LoadWide(const uint16_t* values) {
  const auto bits = hn::ShiftLeft<16>(hn::PromoteTo(HalfU32(), hn::LoadU(HalfU16(), values)));
  return hn::PromoteTo(F64(), hn::BitCast(HalfF32(), bits));
}

template <class T>
HWY_INLINE void AddSquares(const T* values, hn::Vec<F64>* sums) {
  for (int64_t j = 0; j < kF64Vectors; ++j) {
    const hn::Vec<F64> wide = LoadWide(values + j * kF64Lanes);
    sums[j] = hn::Add(sums[j], hn::Mul(wide, wide));
  }
}

template <class T>
HWY_INLINE double SumOfSquares(const T* values, int64_t count) {
  const F64 f64;
  hn::Vec<F64> sums[kF64Vectors];
  for (hn::Vec<F64>& sum : sums) sum = hn::Zero(f64);
  int64_t i = 0;
  for (; i + kLogicalLanes <= count; i += kLogicalLanes) AddSquares(values + i, sums);
  if (i < count) {
    T rest[kLogicalLanes] = {};
    std::memcpy(rest, values + i, static_cast<size_t>(count - i) * sizeof(T));
    AddSquares(rest, sums);
  }
  HWY_ALIGN double lanes[kLogicalLanes];
  for (int64_t j = 0; j < kF64Vectors; ++j) hn::Store(sums[j], f64, lanes + j * kF64Lanes);
  double sum = lanes[0];
  for (int64_t lane = 1; lane < kLogicalLanes; ++lane) sum += lanes[lane];
  return sum;
}

double SumBlock(const SquaredNorm& args, int64_t first, int64_t count) {
  if (args.fp32 != nullptr) return SumOfSquares(args.fp32 + first, count);
  return SumOfSquares(args.bf16 + first, count);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace horizon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace horizon {
namespace {

HWY_EXPORT(SumBlock);

}  // namespace

absl::Status SquaredNormHost(const KernelContext& context, const SquaredNorm& args) {
  CHECK(args.count >= 0 && args.block > 0);
  RunPieces(context, args.count, args.block, [&](int64_t first, int64_t count) {
    args.partials[first / args.block] = HWY_DYNAMIC_DISPATCH(SumBlock)(args, first, count);
  });
  return absl::OkStatus();
}

}  // namespace horizon
#endif  // HWY_ONCE
