#include <algorithm>

#include "common/text/str_cat.h"
#include "kernels/experts/expert_gemm.h"
#include "kernels/experts/expert_gemm_blocks.h"
#include "kernels/experts/expert_rows.h"
#include "kernels/gemm/tile_gemm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/experts/expert_weight_gradient_host.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/host/pack_rows-inl.h"
#include "kernels/host/simd_math-inl.h"

#ifndef HORIZON_KERNELS_EXPERT_WEIGHT_GRADIENT_HOST_ONCE
#define HORIZON_KERNELS_EXPERT_WEIGHT_GRADIENT_HOST_ONCE
namespace horizon {
namespace {

// A part of the gradient of one expert.
struct GradientBlock {
  int64_t expert = 0;
  BlockRange m;
  BlockRange n;
};

// Columns of a matrix whose rows are gathered.
struct GatheredColumns {
  const float* values;
  int64_t stride;
  const int32_t* rows;
  BlockRange columns;
};

}  // namespace
}  // namespace horizon
#endif

HWY_BEFORE_NAMESPACE();
namespace horizon {
namespace HWY_NAMESPACE {
namespace {

// Some rows, [rows, columns], padded to whole lane groups.
void Pack(const GatheredColumns& from, const BlockRange& rows, float* to) {
  const int64_t columns = from.columns.size();
  for (int64_t row = rows.begin; row < rows.end; ++row, to += kColumnStride) {
    PackRows(from.values + GatheredRow(from.rows, row) * from.stride + from.columns.begin,
             from.stride, 1, columns, 1.0f, to, kColumnStride, InLaneGroups(columns));
  }
}

// The sums of a block are taken in the gradient itself if they are stored as they are and fill
// whole lane groups, and otherwise in scratch.
void SumBlock(const ExpertWeightGradient& args, const GradientBlock& block, float* scratch) {
  float* a = scratch;
  float* b = a + kBlockTerms * kColumnStride;
  const GradientOut gradient = args.gradient.From(block.expert * args.gradient_expert_stride +
                                                  block.m.begin * args.n + block.n.begin);
  const int64_t columns = InLaneGroups(block.n.size());
  const bool in_place =
      gradient.sum != nullptr && !gradient.add && !gradient.rounded && columns == block.n.size();
  float* sums = in_place ? gradient.sum : b + kBlockTerms * kColumnStride;
  const int64_t begin = args.begins[block.expert];
  const int64_t end = args.begins[block.expert + 1];
  // Without rows the sums are 0.
  for (int64_t row = begin; row == begin || row < end; row += kBlockTerms) {
    const BlockRange rows = {.begin = row, .end = std::min(end, row + kBlockTerms)};
    Pack({args.a, args.a_stride, args.a_rows, block.m}, rows, a);
    Pack({args.b, args.b_stride, args.b_rows, block.n}, rows, b);
    ComputeTileGemm({.a_transposed = Transposed::kYes,
                     .m = block.m.size(),
                     .n = columns,
                     .k = rows.size(),
                     .a = a,
                     .a_stride = kColumnStride,
                     .b = b,
                     .b_stride = kColumnStride,
                     .accumulate = row > begin,
                     .c = sums,
                     .c_stride = in_place ? args.n : columns});
  }
  for (int64_t i = 0; i < block.m.size() && !in_place; ++i) {
    StoreGradients(gradient.From(i * args.n), sums + i * columns, block.n.size());
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace horizon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace horizon {
namespace {

HWY_EXPORT(SumBlock);

absl::Status Check(const ExpertWeightGradient& args) {
  constexpr char kWhat[] = "the gradient of the weights of experts";
  if (absl::Status status = CheckExpertRows(kWhat, args.experts, args.begins, args.most_rows);
      !status.ok()) {
    return status;
  }
  if (args.m < 0 || args.n < 0 || args.a_stride < args.m || args.b_stride < args.n) {
    return absl::InvalidArgumentError(
        StrCat(kWhat, ": ", args.m, " x ", args.n, " from rows with strides ", args.a_stride,
               " and ", args.b_stride, ": sizes are negative, or strides do not hold a row"));
  }
  if (args.experts > 1 && args.gradient_expert_stride < args.m * args.n) {
    return absl::InvalidArgumentError(StrCat(kWhat, ": gradients of ", args.m, " x ", args.n,
                                             " begin ", args.gradient_expert_stride,
                                             " after each other"));
  }
  if (!args.gradient.is_needed()) {
    return absl::InvalidArgumentError(StrCat(kWhat, ": no place to store it"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ExpertWeightGradientHost(const KernelContext& context,
                                      const ExpertWeightGradient& args) {
  if (absl::Status status = Check(args); !status.ok()) return status;
  if (args.experts == 0 || args.m == 0 || args.n == 0) return absl::OkStatus();
  const CutSide m(args.m, kMostBlockRows, kRowStep);
  const CutSide n = CutColumns(args.n, args.experts * m.count());
  const int64_t blocks = m.count() * n.count();
  context.workers->Run(args.experts * blocks, [&](int64_t piece, int worker) {
    const GradientBlock block = {.expert = piece / blocks,
                                 .m = m.At(piece % blocks / n.count()),
                                 .n = n.At(piece % n.count())};
    HWY_DYNAMIC_DISPATCH(SumBlock)
    (args, block, reinterpret_cast<float*>(context.ScratchOf(worker)));
  });
  return absl::OkStatus();
}

}  // namespace horizon
#endif  // HWY_ONCE
