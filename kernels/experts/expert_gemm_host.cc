#include <algorithm>

#include "common/text/str_cat.h"
#include "kernels/experts/expert_gemm.h"
#include "kernels/experts/expert_gemm_blocks.h"
#include "kernels/experts/expert_rows.h"
#include "kernels/gemm/tile_gemm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/experts/expert_gemm_host.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/host/pack_rows-inl.h"
#include "kernels/host/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace horizon {
namespace HWY_NAMESPACE {
namespace {

// Terms k .. k + terms - 1 of the rows of a block: [rows, terms].
void PackA(const ExpertGemm& args, const ExpertBlock& block, int64_t k, int64_t terms, float* to) {
  const float* a = args.a + k;
  for (int64_t row = block.rows.begin; row < block.rows.end; ++row, to += kTermStride) {
    PackRows(a + GatheredRow(args.a_rows, row) * args.a_stride, args.a_stride, 1, terms, 1.0f, to,
             kTermStride, terms);
  }
}

// The same terms of its columns: [terms, columns], padded to whole lane groups.
void PackB(const ExpertGemm& args, const ExpertBlock& block, int64_t k, int64_t terms, float* to) {
  const float* b = args.b + block.expert * args.b_expert_stride;
  const int64_t columns = block.columns.size();
  if (args.b_transposed == Transposed::kYes) {
    PackColumns(b + block.columns.begin * args.b_stride + k, args.b_stride, columns, terms, 1.0f,
                to, kColumnStride, InLaneGroups(columns));
  } else {
    PackRows(b + k * args.b_stride + block.columns.begin, args.b_stride, terms, columns, 1.0f, to,
             kColumnStride, InLaneGroups(columns));
  }
}

void AddBias(const ExpertGemm& args, const ExpertBlock& block) {
  const F32 f32;
  const float* bias = args.bias + block.expert * args.bias_expert_stride + block.columns.begin;
  for (int64_t row = block.rows.begin; row < block.rows.end; ++row) {
    const bool scaled = args.row_scales != nullptr;
    const F32Vec scale = hn::Set(f32, scaled ? args.row_scales[args.scale_pairs[row]] : 1.0f);
    float* c = args.c + row * args.c_stride + block.columns.begin;
    ForEachVector(block.columns.size(), [&](int64_t j, int64_t n) HORIZON_VECTOR_BODY {
      const F32Vec added = hn::Mul(scale, LoadPart(f32, bias + j, n));
      StorePart(f32, hn::Add(LoadPart(f32, c + j, n), added), c + j, n);
    });
  }
}

// The micro-kernel stores whole lane groups. The columns after the last whole one pass through
// scratch.
void MultiplyBlock(const ExpertGemm& args, const ExpertBlock& block, float* scratch) {
  float* a = scratch;
  float* b = a + kMostBlockRows * kTermStride;
  float* rest = b + kBlockTerms * kColumnStride;
  const int64_t rows = block.rows.size();
  const int64_t whole = block.columns.size() / kLaneGroup * kLaneGroup;
  const int64_t rest_columns = block.columns.size() - whole;
  float* c = args.c + block.rows.begin * args.c_stride + block.columns.begin;
  // Without terms the sums are 0.
  for (int64_t k = 0; k == 0 || k < args.k; k += kBlockTerms) {
    const int64_t terms = std::min(kBlockTerms, args.k - k);
    PackA(args, block, k, terms, a);
    PackB(args, block, k, terms, b);
    TileGemm gemm = {.m = rows,
                     .n = whole,
                     .k = terms,
                     .a = a,
                     .a_stride = kTermStride,
                     .b = b,
                     .b_stride = kColumnStride,
                     .accumulate = k > 0,
                     .c = c,
                     .c_stride = args.c_stride};
    ComputeTileGemm(gemm);
    if (rest_columns == 0) continue;
    gemm.n = kLaneGroup;
    gemm.b = b + whole;
    gemm.c = rest;
    gemm.c_stride = kLaneGroup;
    ComputeTileGemm(gemm);
  }
  for (int64_t row = 0; row < rows && rest_columns > 0; ++row) {
    std::copy_n(rest + row * kLaneGroup, rest_columns, c + row * args.c_stride + whole);
  }
  if (args.bias != nullptr) AddBias(args, block);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace horizon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace horizon {
namespace {

HWY_EXPORT(MultiplyBlock);

absl::Status Check(const ExpertGemm& args) {
  constexpr char kWhat[] = "multiplying the rows of experts";
  if (absl::Status status = CheckExpertRows(kWhat, args.experts, args.begins, args.most_rows);
      !status.ok()) {
    return status;
  }
  const bool transposed = args.b_transposed == Transposed::kYes;
  const int64_t b_rows = transposed ? args.n : args.k;
  const int64_t b_row = transposed ? args.k : args.n;
  if (args.n < 0 || args.k < 0 || args.a_stride < args.k || args.b_stride < b_row ||
      args.c_stride < args.n) {
    return absl::InvalidArgumentError(
        StrCat(kWhat, ": of ", args.k, " terms each, with matrices of ", args.n,
               " columns: sizes are negative, or strides ", args.a_stride, ", ", args.b_stride,
               ", ", args.c_stride, " do not hold a row"));
  }
  if (args.experts > 1 && b_rows > 0 &&
      args.b_expert_stride < (b_rows - 1) * args.b_stride + b_row) {
    return absl::InvalidArgumentError(StrCat(kWhat, ": matrices of ", b_rows, " x ", b_row,
                                             " with stride ", args.b_stride, " begin ",
                                             args.b_expert_stride, " after each other"));
  }
  if (args.bias == nullptr) return absl::OkStatus();
  if ((args.experts > 1 && args.bias_expert_stride < args.n) ||
      (args.row_scales != nullptr && args.scale_pairs == nullptr)) {
    return absl::InvalidArgumentError(
        StrCat(kWhat, ": biases of ", args.n, " begin ", args.bias_expert_stride,
               " after each other", args.scale_pairs == nullptr ? ", and no scale_pairs" : ""));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ExpertGemmHost(const KernelContext& context, const ExpertGemm& args) {
  if (absl::Status status = Check(args); !status.ok()) return status;
  if (args.experts == 0 || args.n == 0) return absl::OkStatus();
  const ExpertRowBlocks blocks(args.begins, args.experts, args.n);
  context.workers->Run(blocks.count(), [&](int64_t piece, int worker) {
    HWY_DYNAMIC_DISPATCH(MultiplyBlock)
    (args, blocks.At(piece), reinterpret_cast<float*>(context.ScratchOf(worker)));
  });
  return absl::OkStatus();
}

}  // namespace horizon
#endif  // HWY_ONCE
