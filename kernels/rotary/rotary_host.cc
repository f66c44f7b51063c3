#include <cmath>

#include "common/check.h"
#include "kernels/host/pieces.h"
#include "kernels/rotary/rotary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rotary/rotary_host.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/host/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace horizon {
namespace HWY_NAMESPACE {
namespace {

// The sine is negated for backward, which is exact, so both directions round alike.
void ApplyRotaryToHead(const float* cosines, const float* sines, float sign, int64_t half,
                       float* head) {
  const F32 f32;
  ForEachVector(half, [&](int64_t i, int64_t n) HORIZON_VECTOR_BODY {
    const F32Vec cosine = LoadPart(f32, cosines + i, n);
    const F32Vec sine = hn::Mul(LoadPart(f32, sines + i, n), hn::Set(f32, sign));
    const F32Vec one = LoadPart(f32, head + i, n);
    const F32Vec other = LoadPart(f32, head + half + i, n);
    StorePart(f32, hn::Sub(hn::Mul(one, cosine), hn::Mul(other, sine)), head + i, n);
    StorePart(f32, hn::Add(hn::Mul(other, cosine), hn::Mul(one, sine)), head + half + i, n);
  });
}

void ApplyRotaryToTokens(const ApplyRotary& args, int64_t first, int64_t tokens) {
  const int64_t half = args.rotary_dim / 2;
  const float sign = args.direction == RotaryDirection::kForward ? 1.0f : -1.0f;
  for (int64_t token = first; token < first + tokens; ++token) {
    const float* cosines = args.table + args.records[token].position * args.rotary_dim;
    float* heads = args.x + token * args.heads * args.head_dim;
    for (int64_t h = 0; h < args.heads; ++h) {
      ApplyRotaryToHead(cosines, cosines + half, sign, half, heads + h * args.head_dim);
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace horizon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace horizon {
namespace {

HWY_EXPORT(ApplyRotaryToTokens);

}  // namespace

void FillRotaryTable(std::span<const float> frequencies, float factor, int64_t sequence,
                     std::span<float> table) {
  const auto half = static_cast<int64_t>(frequencies.size());
  CHECK(sequence >= 0 && static_cast<int64_t>(table.size()) == sequence * 2 * half);
  for (int64_t t = 0; t < sequence; ++t) {
    float* cosines = table.data() + t * 2 * half;
    for (int64_t i = 0; i < half; ++i) {
      // In double, so that the nearest fp32 does not depend on the last bit of a library's
      // function.
      const double angle = static_cast<float>(t) * frequencies[static_cast<size_t>(i)];
      cosines[i] = static_cast<float>(std::cos(angle)) * factor;
      cosines[half + i] = static_cast<float>(std::sin(angle)) * factor;
    }
  }
}

absl::Status ApplyRotaryHost(const KernelContext& context, const ApplyRotary& args) {
  CHECK(args.tokens >= 0 && args.heads >= 0);
  CHECK(args.rotary_dim >= 2 && args.rotary_dim % 2 == 0 && args.rotary_dim <= args.head_dim);
  const int64_t token_bytes = args.heads * args.head_dim * static_cast<int64_t>(sizeof(float));
  RunPieces(context, args.tokens, RowsPerPiece(token_bytes), [&](int64_t first, int64_t tokens) {
    HWY_DYNAMIC_DISPATCH(ApplyRotaryToTokens)(args, first, tokens);
  });
  return absl::OkStatus();
}

}  // namespace horizon
#endif  // HWY_ONCE
