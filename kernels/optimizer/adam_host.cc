#include <algorithm>
#include <atomic>
#include <cmath>

#include "common/check.h"
#include "common/text/str_cat.h"
#include "kernels/host/pieces.h"
#include "kernels/optimizer/adam.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/optimizer/adam_host.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/host/simd_math-inl.h"
#include "kernels/optimizer/adam_state-inl.h"

#ifndef HORIZON_KERNELS_ADAM_HOST_ONCE
#define HORIZON_KERNELS_ADAM_HOST_ONCE
namespace horizon {
namespace {

constexpr int64_t kNone = INT64_MAX;

}  // namespace
}  // namespace horizon
#endif

HWY_BEFORE_NAMESPACE();
namespace horizon {
namespace HWY_NAMESPACE {
namespace {

HWY_INLINE F32Vec LoadGradient(const float* gradient, int64_t i, int64_t n) {
  return LoadPart(F32(), gradient + i, n);
}
HWY_INLINE F32Vec LoadGradient(const uint16_t* gradient, int64_t i, int64_t n) {
  return ExpandBf16(LoadPart(U16(), gradient + i, n));
}

// Updates a run of parameters. `args` is a copy, so that the compiler knows that no store changes
// it and can keep its fields in registers. StoredMoments is one of the structs of adam_state-inl.h.
template <class Gradient, class StoredMoments>
struct Updater {
  const AdamUpdate args;
  const Gradient* const gradient;
  const int64_t first;          // of the run, counted from the first parameter of the call
  const StoredMoments moments;  // of the run
  int64_t bad = kNone;          // the lowest number of a master that is not finite as bf16

  // Computes the new masters of the run's parameters j, j + 1, ..., and stores their moments.
  HWY_INLINE F32Vec Step(int64_t j, int64_t n, F32Vec w) const {
    const F32 f32;
    const AdamConstants& c = args.constants;
    const F32Vec g = hn::Mul(hn::Set(f32, args.clip), LoadGradient(gradient, first + j, n));
    const F32Vec kept = hn::Mul(hn::Set(f32, c.decay_factor), w);
    Moments now = moments.Load(j, n);
    now.m = hn::Add(now.m, hn::Mul(hn::Set(f32, c.one_minus_beta1), hn::Sub(g, now.m)));
    const F32Vec square = hn::Mul(hn::Mul(hn::Set(f32, c.one_minus_beta2), g), g);
    now.v = hn::Add(hn::Mul(hn::Set(f32, c.beta2), now.v), square);
    const F32Vec root = hn::Mul(hn::Sqrt(now.v), hn::Set(f32, c.inverse_sqrt_bias_correction2));
    const F32Vec step =
        hn::Div(hn::Mul(hn::Set(f32, c.step_size), now.m), hn::Add(root, hn::Set(f32, c.epsilon)));
    moments.Store(j, n, now);
    return hn::Sub(kept, step);
  }

  HWY_INLINE hn::Mask<I32> Refused(F32Vec w) const {
    const I32 i32;
    const I32Vec magnitude = hn::BitCast(i32, hn::Abs(w));
    return hn::Gt(magnitude, hn::Set(i32, 0x7F7F7FFF));
  }
  // Notes the first refused parameter. With an epsilon of zero, SIMD lanes past the end may be
  // refused too; they do not count.
  HWY_INLINE void NoteRefused(int64_t j, int64_t n, F32Vec w) {
    const auto refused = Refused(w);
    if (HWY_LIKELY(hn::AllFalse(I32(), refused))) return;
    const int64_t simd_lane = hn::FindFirstTrue(I32(), refused);
    if (simd_lane < n) bad = std::min(bad, first + j + simd_lane);
  }

  HWY_INLINE void Run(int64_t count) {
    int64_t j = 0;
#if HORIZON_ADAM_PAIRS
    for (; j + 2 * kF32Lanes <= count; j += 2 * kF32Lanes) {
      const F32Pair before = LoadMasterPair(args, first + j);
      const F32Pair w = {Step(j, kF32Lanes, before.first),
                         Step(j + kF32Lanes, kF32Lanes, before.second)};
      StoreMasterPair(args, first + j, w);
      if (HWY_UNLIKELY(!hn::AllFalse(I32(), hn::Or(Refused(w.first), Refused(w.second))))) {
        NoteRefused(j, kF32Lanes, w.first);
        NoteRefused(j + kF32Lanes, kF32Lanes, w.second);
      }
    }
#endif
    const int64_t rest = j;
    ForEachVector(count - rest, [&](int64_t k, int64_t n) HORIZON_VECTOR_BODY {
      const F32Vec w = Step(rest + k, n, LoadMasters(args, first + rest + k, n));
      StoreMasters(args, first + rest + k, n, w);
      NoteRefused(rest + k, n, w);
    });
  }
};

// Updates the parameters [first, first + count) of the call; `moments` begin at the first of them.
// Returns the lowest parameter with a new master that is not finite as bf16, counted from the first
// parameter of the call, or kNone. The functions below return the same.
template <class Gradient, class StoredMoments>
HWY_INLINE int64_t UpdateRun(const AdamUpdate& args, const Gradient* gradient, int64_t first,
                             int64_t count, const StoredMoments& moments) {
  Updater<Gradient, StoredMoments> updater = {args, gradient, first, moments};
  updater.Run(count);
  return updater.bad;
}

// Updates one moment block with 8-bit moments.
template <class Gradient>
HWY_INLINE int64_t UpdateBlock(const AdamUpdate& args, const Gradient* gradient, int64_t first,
                               int64_t count, AdamSeed seed) {
  const U32 u32;
  HWY_ALIGN float new_m[kAdamBlock];
  HWY_ALIGN float new_v[kAdamBlock];
  auto* m = static_cast<uint8_t*>(args.m) + first;
  auto* v = static_cast<uint8_t*>(args.v) + first;
  float& m_scale = args.m_scales[first / kAdamBlock];
  float& v_scale = args.v_scales[first / kAdamBlock];
  I32Vec largest_m = hn::Zero(I32());
  I32Vec largest_v = hn::Zero(I32());
  const QuantizedMoments block = {m, v, m_scale, v_scale, new_m, new_v, &largest_m, &largest_v};
  const int64_t bad = UpdateRun(args, gradient, first, count, block);

  // The power of two p for which `largest` is in [15/16 p, 15/8 p].
  const auto scale_of = [&](I32Vec largest) HORIZON_VECTOR_BODY {
    const I32Vec lifted = hn::Add(hn::MaxOfLanes(I32(), largest), hn::Set(I32(), 0xFFFFF));
    return hn::GetLane(hn::BitCast(F32(), hn::And(lifted, hn::Set(I32(), 0x7F800000))));
  };
  m_scale = scale_of(largest_m);
  v_scale = scale_of(largest_v);
  const U32Vec lane_numbers = LaneNumbers();
  const F32Vec per_m = hn::Set(F32(), m_scale > 0.0f ? 1.0f / m_scale : 0.0f);
  const F32Vec per_v = hn::Set(F32(), v_scale > 0.0f ? 1.0f / v_scale : 0.0f);
  ForEachVector(count, [&](int64_t i, int64_t n) HORIZON_VECTOR_BODY {
    const U32Vec words = RandomWords(seed, lane_numbers, i);
    const F32Vec m_now = hn::Load(F32(), new_m + i);
    const F32Vec v_now = hn::Load(F32(), new_v + i);
    const U32Vec sign = hn::ShiftLeft<7>(hn::ShiftRight<31>(hn::BitCast(u32, m_now)));
    U32Vec m_codes = CodesOfM::Encode(hn::Mul(hn::Abs(m_now), per_m), WordOfM(words));
    m_codes = hn::Or(hn::And(m_codes, hn::Set(u32, 0x7F)), sign);
    U32Vec v_codes = CodesOfV::Encode(hn::Mul(v_now, per_v), WordOfV(words));
    const auto positive = hn::Gt(hn::Min(v_now, hn::Set(F32(), v_scale)), hn::Zero(F32()));
    const U32Vec least = hn::IfThenElseZero(hn::RebindMask(u32, positive), hn::Set(u32, 1));
    v_codes = hn::And(hn::Max(v_codes, least), hn::Set(u32, 0xFF));
    StorePart(U8(), hn::DemoteTo(U8(), hn::BitCast(I32(), m_codes)), m + i, n);
    StorePart(U8(), hn::DemoteTo(U8(), hn::BitCast(I32(), v_codes)), v + i, n);
  });
  return bad;
}

template <class Gradient>
HWY_INLINE int64_t UpdatePiece(const AdamUpdate& args, const Gradient* gradient, int64_t first,
                               int64_t count, AdamSeed seed) {
  if (args.moments == MomentType::kFp32) {
    const Fp32Moments moments = {static_cast<float*>(args.m) + first,
                                 static_cast<float*>(args.v) + first};
    return UpdateRun(args, gradient, first, count, moments);
  }
  if (args.moments == MomentType::kBf16) {
    const Bf16Moments moments = {static_cast<uint16_t*>(args.m) + first,
                                 static_cast<uint16_t*>(args.v) + first, seed, LaneNumbers()};
    return UpdateRun(args, gradient, first, count, moments);
  }
  int64_t bad = kNone;
  for (int64_t j = 0; j < count; j += kAdamBlock) {
    AdamSeed from = seed;
    from.first += static_cast<uint32_t>(j);
    const int64_t size = std::min(kAdamBlock, count - j);
    bad = std::min(bad, UpdateBlock(args, gradient, first + j, size, from));
  }
  return bad;
}

int64_t Update(const AdamUpdate& args, int64_t first, int64_t count, AdamSeed seed) {
  if (args.gradient_fp32 != nullptr)
    return UpdatePiece(args, args.gradient_fp32, first, count, seed);
  return UpdatePiece(args, args.gradient_bf16, first, count, seed);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace horizon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace horizon {
namespace {

HWY_EXPORT(Update);

constexpr int64_t kPiece = 128 * kAdamBlock;

// One seed serves the parameters up to the next multiple of 2^32.
int64_t UpdateWithSeeds(const AdamUpdate& args, int64_t first, int64_t count) {
  constexpr int64_t kSeedReach = int64_t{1} << 32;
  int64_t bad = kNone;
  for (int64_t end = first + count; first < end;) {
    const int64_t reach = kSeedReach - (args.first + first) % kSeedReach;
    const int64_t run = std::min(reach, end - first);
    bad = std::min(bad, HWY_DYNAMIC_DISPATCH(Update)(
                            args, first, run, AdamSeedOf(args.key, args.step, args.first + first)));
    first += run;
  }
  return bad;
}

}  // namespace

AdamConstants AdamConstantsOf(const AdamSettings& settings) {
  const auto step = static_cast<double>(settings.step);
  const double correction1 = 1.0 - std::pow(settings.beta1, step);
  const double correction2 = 1.0 - std::pow(settings.beta2, step);
  return {
      .step_size = static_cast<float>(settings.learning_rate / correction1),
      .decay_factor = static_cast<float>(1.0 - settings.learning_rate * settings.weight_decay),
      .one_minus_beta1 = static_cast<float>(1.0 - settings.beta1),
      .beta2 = static_cast<float>(settings.beta2),
      .one_minus_beta2 = static_cast<float>(1.0 - settings.beta2),
      .inverse_sqrt_bias_correction2 = static_cast<float>(1.0 / std::sqrt(correction2)),
      .epsilon = static_cast<float>(settings.epsilon),
  };
}

absl::Status RefusedUpdate(uint64_t parameter) {
  return absl::OutOfRangeError(
      StrCat("Adam: parameter ", parameter, " would not be finite as bf16"));
}

absl::Status AdamUpdateHost(const KernelContext& context, const AdamUpdate& args) {
  CHECK(args.count >= 0 && args.first >= 0);
  CHECK(args.moments != MomentType::k8Bit || args.first % kAdamBlock == 0);
  CHECK(args.count == 0 || (args.gradient_fp32 == nullptr) != (args.gradient_bf16 == nullptr));
  std::atomic<int64_t> lowest{kNone};
  RunPieces(context, args.count, kPiece, [&](int64_t first, int64_t count) {
    const int64_t bad = UpdateWithSeeds(args, first, count);
    int64_t before = lowest.load();
    while (bad < before && !lowest.compare_exchange_weak(before, bad)) {
    }
  });
  if (lowest == kNone) return absl::OkStatus();
  return RefusedUpdate(static_cast<uint64_t>(args.first + lowest));
}

}  // namespace horizon
#endif  // HWY_ONCE
