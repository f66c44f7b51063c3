#include <algorithm>

#include "common/text/str_cat.h"
#include "kernels/attention/sink_gradient.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/sink_gradient_host.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/host/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace horizon {
namespace HWY_NAMESPACE {

constexpr int64_t kTokensPerTile = 64;

// sums[j] = the sum over a tile's tokens of the terms of head first + j.
void SumTile(const SinkGradient& args, int64_t first, int64_t heads, int64_t begin, int64_t end,
             float* sums) {
  const F32 f32;
  const float* sinks = args.sinks;
  std::fill_n(sums, heads, 0.0f);
  for (int64_t token = begin; token < end; ++token) {
    const int64_t entry = token * args.heads + first;
    ForEachVector(heads, [&](int64_t j, int64_t n) HORIZON_VECTOR_BODY {
      const F32Vec probability = FastExp(hn::Sub(LoadPart(f32, sinks + first + j, n),
                                                 LoadPart(f32, args.log_sum_exp + entry + j, n)));
      const F32Vec term = hn::Mul(probability, LoadPart(f32, args.output_dot + entry + j, n));
      StorePart(f32, hn::Sub(LoadPart(f32, sums + j, n), term), sums + j, n);
    });
  }
}

void StripGradient(const SinkGradient& args, int64_t strip) {
  const int64_t first = strip * kSinkStripHeads;
  const int64_t heads = HWY_MIN(kSinkStripHeads, args.heads - first);
  double totals[kSinkStripHeads] = {};
  float sums[kSinkStripHeads];
  for (int64_t token = 0; token < args.tokens; token += kTokensPerTile) {
    SumTile(args, first, heads, token, HWY_MIN(token + kTokensPerTile, args.tokens), sums);
    for (int64_t j = 0; j < heads; ++j) totals[j] += double{sums[j]};
  }
  for (int64_t j = 0; j < heads; ++j) sums[j] = static_cast<float>(totals[j]);
  StoreGradients(args.gradient.From(first), sums, heads);
}

}  // namespace HWY_NAMESPACE
}  // namespace horizon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace horizon {
namespace {

HWY_EXPORT(StripGradient);

}  // namespace

absl::Status SinkGradientHost(const KernelContext& context, const SinkGradient& args) {
  if (args.tokens < 0 || args.heads < 0 || (args.heads > 0 && args.sinks == nullptr)) {
    return absl::InvalidArgumentError(StrCat("the gradient of the sinks of ", args.heads,
                                             " heads over ", args.tokens, " tokens",
                                             args.sinks == nullptr ? ": there are no sinks" : ""));
  }
  const int64_t strips = (args.heads + kSinkStripHeads - 1) / kSinkStripHeads;
  context.workers->Run(strips, [&](int64_t strip, int) {
    HWY_DYNAMIC_DISPATCH(StripGradient)(args, strip);
  });
  return absl::OkStatus();
}

}  // namespace horizon
#endif  // HWY_ONCE
