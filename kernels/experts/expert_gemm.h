#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/arguments/gradient_out.h"
#include "kernels/arguments/values.h"
#include "kernels/gemm/transposed.h"

namespace horizon {

// Grouped matrix multiplies: each expert multiplies its own rows with its own weights. The rows of
// expert e, counted from the first expert of the call, are begins[e] .. begins[e + 1] (dispatch.h);
// an expert may have no rows. Matrices are row-major, strides are elements from one row to the
// next.
//
//   // gate and up of 8 experts, stored as [2 x width, hidden] each, one expert after another:
//   // C[rows, 2 x width] = X[token of the row, hidden] W_e^T
//   ExpertGemmHost(context, {.experts = 8, .begins = begins, .most_rows = rows,
//                            .n = 2 * width, .k = hidden,
//                            .a = x, .a_stride = hidden, .a_rows = row_tokens,
//                            .b = w, .b_transposed = Transposed::kYes, .b_stride = hidden,
//                            .b_expert_stride = 3 * width * hidden,
//                            .c = gate_up, .c_stride = 2 * width});
//
// The bits of an element depend on its row of A, its column of B, k and nothing else: not on the
// number of rows of its expert, the range of experts of the call, or the workers.
// On the host an element is a sum in fp32 over tiles of 256 terms, and a tile is a sum of its
// terms; both in ascending order.
struct ExpertGemm {
  int64_t experts = 0;
  const int32_t* begins = nullptr;  // [experts + 1]; ascending, within 0 .. most_rows
  int64_t most_rows = 0;            // rows of A (without a_rows) and C that there are at most
  int64_t n = 0;
  int64_t k = 0;
  ConstValues a;  // [., k]: row r multiplies row r of A, or row a_rows[r]
  int64_t a_stride = 0;
  const int32_t* a_rows = nullptr;  // [most_rows]; null: r itself
  ConstValues b;                    // of the first expert: [k, n], or [n, k] if b_transposed
  Transposed b_transposed = Transposed::kNo;
  int64_t b_stride = 0;
  int64_t b_expert_stride = 0;  // elements from one expert's matrix to the next
  Values c;                     // [most_rows, n]; only rows of these experts are written
  int64_t c_stride = 0;
  // [n] of the first expert, added to each row of the result; null: none. With row_scales, row r
  // gets it row_scales[scale_pairs[r]] times.
  ConstValues bias;
  int64_t bias_expert_stride = 0;
  const float* row_scales = nullptr;
  const int32_t* scale_pairs = nullptr;  // [most_rows]
};
absl::Status ExpertGemmReference(const KernelContext& context, const ExpertGemm& args);
absl::Status ExpertGemmHost(const KernelContext& context, const ExpertGemm& args);
// One launch for all experts, on the tensor cores (kernels/cuda/mma.cuh); the rows of each expert
// are read from `begins` on the device. a, b, bias and c are bf16; k and the strides are multiples
// of 8 and arrays begin at multiples of 16 bytes. Sums are fp32 and rounded once. Unavailable below
// compute capability 8.0.
absl::Status ExpertGemmCuda(const KernelContext& context, const ExpertGemm& args);

// The gradient of the experts' weights: dW_e[m, n] = sum over the rows r of e of A[r]^T B[r]. An
// expert without rows has the gradient 0. Rows are added in ascending order, in fp32 (on the host
// in tiles of 256 rows, counted from the expert's first one).
struct ExpertWeightGradient {
  int64_t experts = 0;
  const int32_t* begins = nullptr;
  int64_t most_rows = 0;
  int64_t m = 0;
  int64_t n = 0;
  ConstValues a;  // [., m]
  int64_t a_stride = 0;
  const int32_t* a_rows = nullptr;
  ConstValues b;  // [., n]
  int64_t b_stride = 0;
  const int32_t* b_rows = nullptr;
  GradientOut gradient;  // of the first expert, contiguous [m, n]
  int64_t gradient_expert_stride = 0;
};
absl::Status ExpertWeightGradientReference(const KernelContext& context,
                                           const ExpertWeightGradient& args);
absl::Status ExpertWeightGradientHost(const KernelContext& context,
                                      const ExpertWeightGradient& args);
// As ExpertGemmCuda: m, n and strides are multiples of 8.
absl::Status ExpertWeightGradientCuda(const KernelContext& context,
                                      const ExpertWeightGradient& args);

// The gradient of the experts' biases: db_e[width] = sum over the rows r of e of
// row_scales[scale_pairs[r]] x G[r] (row_scales null: x 1). The rows of an expert are added as in
// BiasGradient (gemm.h): tiles of 64 in fp32, the tiles in fp64, both in ascending order.
struct ExpertBiasGradient {
  int64_t experts = 0;
  const int32_t* begins = nullptr;
  int64_t most_rows = 0;
  int64_t width = 0;
  ConstValues output_gradient;  // [., width]
  int64_t output_stride = 0;
  const int32_t* rows = nullptr;  // as a_rows
  const float* row_scales = nullptr;
  const int32_t* scale_pairs = nullptr;
  GradientOut gradient;
  int64_t gradient_expert_stride = 0;
};
absl::Status ExpertBiasGradientReference(const KernelContext& context,
                                         const ExpertBiasGradient& args);
absl::Status ExpertBiasGradientHost(const KernelContext& context, const ExpertBiasGradient& args);
absl::Status ExpertBiasGradientCuda(const KernelContext& context, const ExpertBiasGradient& args);

}  // namespace horizon
