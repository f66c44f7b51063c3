#include "kernels/experts/expert_gemm.h"
#include "kernels/host/reference_math.h"

namespace horizon {
namespace {

// The row of a matrix that a row of an expert stands for.
int64_t RowOf(const int32_t* rows, int64_t row) { return rows == nullptr ? row : rows[row]; }

// What a row multiplies the bias with.
double ScaleOf(const float* row_scales, const int32_t* scale_pairs, int64_t row) {
  return row_scales == nullptr ? 1.0 : double{row_scales[scale_pairs[row]]};
}

float Entry(const ExpertGemm& args, int64_t expert, int64_t row, int64_t j) {
  const ConstValues a = args.a.From(RowOf(args.a_rows, row) * args.a_stride);
  const ConstValues b = args.b.From(expert * args.b_expert_stride);
  double sum = 0.0;
  for (int64_t p = 0; p < args.k; ++p) {
    const bool transposed = args.b_transposed == Transposed::kYes;
    sum += double{a[p]} * double{b[transposed ? j * args.b_stride + p : p * args.b_stride + j]};
  }
  if (args.bias != nullptr) {
    sum += ScaleOf(args.row_scales, args.scale_pairs, row) *
           double{args.bias[expert * args.bias_expert_stride + j]};
  }
  return static_cast<float>(sum);
}

}  // namespace

absl::Status ExpertGemmReference(const KernelContext&, const ExpertGemm& args) {
  for (int64_t expert = 0; expert < args.experts; ++expert) {
    for (int64_t row = args.begins[expert]; row < args.begins[expert + 1]; ++row) {
      for (int64_t j = 0; j < args.n; ++j) {
        args.c[row * args.c_stride + j] = Entry(args, expert, row, j);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status ExpertWeightGradientReference(const KernelContext&, const ExpertWeightGradient& args) {
  for (int64_t expert = 0; expert < args.experts; ++expert) {
    const GradientOut gradient = args.gradient.From(expert * args.gradient_expert_stride);
    for (int64_t i = 0; i < args.m; ++i) {
      for (int64_t j = 0; j < args.n; ++j) {
        double sum = 0.0;
        for (int64_t row = args.begins[expert]; row < args.begins[expert + 1]; ++row) {
          sum += double{args.a[RowOf(args.a_rows, row) * args.a_stride + i]} *
                 double{args.b[RowOf(args.b_rows, row) * args.b_stride + j]};
        }
        ReferenceStoreGradient(gradient, i * args.n + j, sum);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status ExpertBiasGradientReference(const KernelContext&, const ExpertBiasGradient& args) {
  for (int64_t expert = 0; expert < args.experts; ++expert) {
    const GradientOut gradient = args.gradient.From(expert * args.gradient_expert_stride);
    for (int64_t j = 0; j < args.width; ++j) {
      double sum = 0.0;
      for (int64_t row = args.begins[expert]; row < args.begins[expert + 1]; ++row) {
        sum += ScaleOf(args.row_scales, args.scale_pairs, row) *
               double{args.output_gradient[RowOf(args.rows, row) * args.output_stride + j]};
      }
      ReferenceStoreGradient(gradient, j, sum);
    }
  }
  return absl::OkStatus();
}

}  // namespace horizon
