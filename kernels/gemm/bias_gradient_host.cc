#include <algorithm>

#include "common/text/str_cat.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_tiles.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/bias_gradient_host.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/host/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace horizon {
namespace HWY_NAMESPACE {

constexpr int64_t kTokensPerTile = 64;

// fp32 sums of `tokens` rows over a strip of columns, which are kept in registers when the strip is
// whole. Columns meet the same additions either way.
void SumWholeStrip(const float* rows, int64_t stride, int64_t tokens, float* sums) {
  constexpr int64_t kVectors = kBiasStripColumns / kF32Lanes;
  const F32 f32;
  F32Vec vectors[kVectors];
  for (F32Vec& vector : vectors) vector = hn::Zero(f32);
  for (int64_t token = 0; token < tokens; ++token, rows += stride) {
    for (int64_t j = 0; j < kVectors; ++j) {
      vectors[j] = hn::Add(vectors[j], hn::LoadU(f32, rows + j * kF32Lanes));
    }
  }
  for (int64_t j = 0; j < kVectors; ++j) hn::StoreU(vectors[j], f32, sums + j * kF32Lanes);
}
void SumShortStrip(const float* rows, int64_t stride, int64_t tokens, int64_t columns,
                   float* sums) {
  std::fill_n(sums, columns, 0.0f);
  for (int64_t token = 0; token < tokens; ++token, rows += stride) {
    for (int64_t j = 0; j < columns; ++j) sums[j] += rows[j];
  }
}

void StripGradient(const BiasGradient& args, int64_t strip) {
  const int64_t first = strip * kBiasStripColumns;
  const int64_t columns = HWY_MIN(kBiasStripColumns, args.width - first);
  double totals[kBiasStripColumns] = {};
  float sums[kBiasStripColumns];
  for (int64_t token = 0; token < args.tokens; token += kTokensPerTile) {
    const float* rows = args.output_gradient + token * args.width + first;
    const int64_t tokens = HWY_MIN(kTokensPerTile, args.tokens - token);
    if (columns == kBiasStripColumns) {
      SumWholeStrip(rows, args.width, tokens, sums);
    } else {
      SumShortStrip(rows, args.width, tokens, columns, sums);
    }
    for (int64_t j = 0; j < columns; ++j) totals[j] += double{sums[j]};
  }
  for (int64_t j = 0; j < columns; ++j) sums[j] = static_cast<float>(totals[j]);
  StoreGradients(args.gradient.From(first), sums, columns);
}

}  // namespace HWY_NAMESPACE
}  // namespace horizon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace horizon {
namespace {

HWY_EXPORT(StripGradient);

}  // namespace

absl::Status BiasGradientHost(const KernelContext& context, const BiasGradient& args) {
  if (args.tokens < 0 || args.width < 0) {
    return absl::InvalidArgumentError(
        StrCat("summing the gradient of a bias of ", args.width, " over ", args.tokens, " tokens"));
  }
  const int64_t strips = (args.width + kBiasStripColumns - 1) / kBiasStripColumns;
  context.workers->Run(strips, [&](int64_t strip, int) {
    HWY_DYNAMIC_DISPATCH(StripGradient)(args, strip);
  });
  return absl::OkStatus();
}

}  // namespace horizon
#endif  // HWY_ONCE
