#include <algorithm>

#include "common/text/str_cat.h"
#include "kernels/experts/expert_gemm.h"
#include "kernels/experts/expert_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/experts/expert_bias_gradient_host.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/host/simd_math-inl.h"

#ifndef HORIZON_KERNELS_EXPERT_BIAS_GRADIENT_HOST_ONCE
#define HORIZON_KERNELS_EXPERT_BIAS_GRADIENT_HOST_ONCE
namespace horizon {
namespace {

// Rows that are added in fp32, and columns that a worker sums together.
constexpr int64_t kTileRows = 64;
constexpr int64_t kStripColumns = 256;

}  // namespace
}  // namespace horizon
#endif

HWY_BEFORE_NAMESPACE();
namespace horizon {
namespace HWY_NAMESPACE {
namespace {

// A product is rounded before it is added.
void AddRow(const float* row, const float* scale, int64_t columns, float* sums) {
  const F32 f32;
  ForEachVector(columns, [&](int64_t j, int64_t n) HORIZON_VECTOR_BODY {
    F32Vec term = LoadPart(f32, row + j, n);
    if (scale != nullptr) term = hn::Mul(hn::Set(f32, *scale), term);
    StorePart(f32, hn::Add(LoadPart(f32, sums + j, n), term), sums + j, n);
  });
}

void SumStrip(const ExpertBiasGradient& args, int64_t expert, int64_t first) {
  const int64_t columns = HWY_MIN(kStripColumns, args.width - first);
  const float* gradient = args.output_gradient;
  double totals[kStripColumns] = {};
  float sums[kStripColumns];
  const int64_t end = args.begins[expert + 1];
  for (int64_t tile = args.begins[expert]; tile < end; tile += kTileRows) {
    std::fill_n(sums, columns, 0.0f);
    for (int64_t row = tile; row < HWY_MIN(end, tile + kTileRows); ++row) {
      const float* scale =
          args.row_scales == nullptr ? nullptr : args.row_scales + args.scale_pairs[row];
      AddRow(gradient + GatheredRow(args.rows, row) * args.output_stride + first, scale, columns,
             sums);
    }
    for (int64_t j = 0; j < columns; ++j) totals[j] += double{sums[j]};
  }
  for (int64_t j = 0; j < columns; ++j) sums[j] = static_cast<float>(totals[j]);
  StoreGradients(args.gradient.From(expert * args.gradient_expert_stride + first), sums, columns);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace horizon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace horizon {
namespace {

HWY_EXPORT(SumStrip);

absl::Status Check(const ExpertBiasGradient& args) {
  constexpr char kWhat[] = "the gradient of the biases of experts";
  if (absl::Status status = CheckExpertRows(kWhat, args.experts, args.begins, args.most_rows);
      !status.ok()) {
    return status;
  }
  if (args.width < 0 || args.output_stride < args.width ||
      (args.experts > 1 && args.gradient_expert_stride < args.width)) {
    return absl::InvalidArgumentError(StrCat(kWhat, ": of ", args.width, " from rows with stride ",
                                             args.output_stride, ", stored ",
                                             args.gradient_expert_stride, " after each other"));
  }
  if (!args.gradient.is_needed() || (args.row_scales != nullptr && args.scale_pairs == nullptr)) {
    return absl::InvalidArgumentError(
        StrCat(kWhat, ": no place to store it, or row_scales without scale_pairs"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ExpertBiasGradientHost(const KernelContext& context, const ExpertBiasGradient& args) {
  if (absl::Status status = Check(args); !status.ok()) return status;
  const int64_t strips = (args.width + kStripColumns - 1) / kStripColumns;
  context.workers->Run(args.experts * strips, [&](int64_t piece, int) {
    HWY_DYNAMIC_DISPATCH(SumStrip)(args, piece / strips, piece % strips * kStripColumns);
  });
  return absl::OkStatus();
}

}  // namespace horizon
#endif  // HWY_ONCE
