#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/arguments/gradient_out.h"
#include "kernels/arguments/values.h"

namespace horizon {

// Products of matrices, row-major, in the three forms a linear layer with weights W[out, in]
// needs. Sizes may be 0 (an empty sum gives `initial`, or zeros).
//
// Same bits: the grid of tiles is fixed by the sizes, each tile is one (or, with k_tile, several)
// single-threaded BLAS calls; which worker does a tile changes nothing. Tiles of few rows in the
// forward form are multiplied by code of ours (few_rows.h).

enum class GemmForm {
  kForward,         // C[m,n] = A[m,k] B[n,k]^T      Y = X W^T
  kInputGradient,   // C[m,n] = A[m,k] B[k,n]        dX = dY W
  kWeightGradient,  // C[m,n] = A[k,m]^T B[k,n]      dW = dY^T X
};

struct Gemm {
  GemmForm form = GemmForm::kForward;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  ConstValues a;
  int64_t a_stride = 0;  // elements from one row to the next, as stored
  ConstValues b;
  int64_t b_stride = 0;
  Values c;
  int64_t c_stride = 0;
  ConstValues bias;     // [n], added to each row; null: none
  ConstValues initial;  // [m,n] with c_stride, what the product is added to: a residual,
                        // or c itself to accumulate; null: nothing
  // > 0: the sum over k is taken in pieces of this length, each added to C in ascending order, so
  // that products over consecutive ranges of whole pieces (initial = c) give the bits of one
  // product over all. 0: in one.
  int64_t k_tile = 0;
  // > 0: m (n) is cut at multiples of this only, so that a product of some whole tiles of rows
  // (columns) gives the bits those have in the whole. 0: cut as the sizes suggest.
  int64_t m_tile = 0;
  int64_t n_tile = 0;
};

absl::Status GemmReference(const KernelContext& context, const Gemm& gemm);
absl::Status GemmHost(const KernelContext& context, const Gemm& gemm);
// On the context's stream, without waiting: a, b and bias are bf16, c and initial both bf16 or both
// fp32 (k_tile: fp32; bias: bf16). Rows begin at multiples of 16 bytes, so widths are multiples of
// 8. The algorithm follows from the sizes, and where tiles are given from these in place of m or n.
absl::Status GemmCuda(const KernelContext& context, const Gemm& gemm);

// dW[m,n] = A[k,m]^T B[k,n] into a gradient (contiguous, n to a row): each tile is summed in
// scratch and stored once.
struct WeightGradient {
  int64_t m = 0;                // outputs
  int64_t n = 0;                // inputs
  int64_t k = 0;                // tokens
  ConstValues output_gradient;  // [k, m]
  int64_t output_stride = 0;
  ConstValues input;  // [k, n]
  int64_t input_stride = 0;
  GradientOut gradient;
};
absl::Status WeightGradientReference(const KernelContext& context, const WeightGradient& args);
absl::Status WeightGradientHost(const KernelContext& context, const WeightGradient& args);
// As GemmCuda. Gradients that are rounded before they are summed pass through the device
// workspace, so many rows at once; others need none.
absl::Status WeightGradientCuda(const KernelContext& context, const WeightGradient& args);
inline int64_t RoundedRowsAtOnce(int64_t m, int64_t n) {
  constexpr int64_t kStep = 128;
  constexpr int64_t kMostElements = int64_t{8} << 20;
  return std::min(m, std::max(kStep, kMostElements / std::max<int64_t>(1, n) / kStep * kStep));
}
inline uint64_t WeightGradientWorkspaceBytes(const WeightGradient& args) {
  if (args.gradient.sum == nullptr || !args.gradient.rounded) return 0;
  return static_cast<uint64_t>(RoundedRowsAtOnce(args.m, args.n) * args.n *
                               BytesOf(ValueType::kBf16));
}

// The gradient of a bias: columns of output_gradient[tokens, width] added up. Tokens are summed in
// tiles of 64 (fp32), tiles in fp64, in ascending order.
struct BiasGradient {
  int64_t tokens = 0;
  int64_t width = 0;
  ConstValues output_gradient;  // [tokens, width], contiguous
  GradientOut gradient;
};
absl::Status BiasGradientReference(const KernelContext& context, const BiasGradient& args);
absl::Status BiasGradientHost(const KernelContext& context, const BiasGradient& args);
// output_gradient is bf16 in device memory; of the same numbers, the host's bits. Summed in the
// device workspace, LeastColumnScratchBytes(width) (cuda_column_scratch.h) or more. See rms_norm.h.
absl::Status BiasGradientCuda(const KernelContext& context, const BiasGradient& args);

}  // namespace horizon
