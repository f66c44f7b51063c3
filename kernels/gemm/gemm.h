#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/arguments/gradient_out.h"
#include "kernels/arguments/values.h"

namespace horizon {

// Matrix multiplies of a linear layer with weights W[out, in]: forward, the gradient of its input,
// the gradient of its weights, and the gradient of its bias. Matrices are row-major. Sizes may be
// 0; with k = 0 the result is `initial` plus bias, or zeros.
//   // Y[tokens, out] = X[tokens, in] W^T
//   RETURN_IF_ERROR(GemmHost(context, {.form = GemmForm::kForward,
//                                      .m = tokens, .n = out, .k = in,
//                                      .a = x, .a_stride = in,
//                                      .b = w, .b_stride = in,
//                                      .c = y, .c_stride = out}));
//
// The bits of a result do not depend on the workers. On the host the sizes alone fix the grid of
// tiles, and each tile is one single-threaded BLAS call (several with k_tile), whichever worker
// makes it. Tiles with few rows in the forward form are multiplied by code of our own (few_rows.h).

// No matrix has more elements than this; more tokens are multiplied in pieces (stage_calls.h).
inline constexpr int64_t kMostMatrixElements = int64_t{1} << 31;
inline bool IsTooLarge(int64_t rows, int64_t columns) {
  return rows > 0 && columns > kMostMatrixElements / rows;
}

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
  ConstValues bias;  // [n], added to each row; null: none
  // [m,n] with c_stride, added to the result: a residual, or c itself to accumulate; null: 0.
  ConstValues initial;
  // If > 0, the sum over k is computed in pieces of this length, each added to C, in ascending
  // order. So several multiplies over consecutive ranges of whole pieces (with initial = c) give
  // the bits of one multiply over all of k. 0: in one piece.
  int64_t k_tile = 0;
  // If > 0, m (n) is cut into tiles at multiples of this only. So a multiply of some whole tiles of
  // rows (columns) gives the bits that they have in the multiply of all. 0: the sizes decide.
  int64_t m_tile = 0;
  int64_t n_tile = 0;
};

absl::Status GemmReference(const KernelContext& context, const Gemm& gemm);
absl::Status GemmHost(const KernelContext& context, const Gemm& gemm);
// Runs on the context's stream and does not wait for it. a, b and bias are bf16; c and initial are
// both bf16 or both fp32 (fp32 if the sum is cut by k_tile, bf16 if there is a bias). Rows begin at
// multiples of 16 bytes, so widths are multiples of 8. The algorithm depends on the sizes; where a
// tile is given, on the tile instead of m or n.
absl::Status GemmCuda(const KernelContext& context, const Gemm& gemm);
// The same by a kernel of our own on the tensor cores, for multiplies that cublasLt does not do as
// we need them. Nothing calls it yet but tests. Types are those of GemmCuda, and a bias may also be
// added to fp32. Any sizes, strides and alignments; it is slower unless rows of a and b begin at
// multiples of 16 bytes.
//
// An element's sum begins with `initial`, takes 16 terms at a time in ascending order, and ends
// with the bias. So its bits depend on its row of A, its column of B and k alone: rows and columns
// may be cut anywhere, and an fp32 sum after any multiple of 16 terms (tiles may be given, k_tile
// as a multiple of 16, and change nothing). Unavailable below compute capability 8.0, whose tensor
// cores do not multiply bf16.
absl::Status TensorCoreGemmCuda(const KernelContext& context, const Gemm& gemm);

// The gradient of the weights, dW[m,n] = output_gradient[k,m]^T input[k,n], stored as GradientOut
// says (contiguous, n elements per row). On the host a tile is summed in scratch and then stored,
// or summed in place if the sum is stored as it is.
struct WeightGradient {
  int64_t m = 0;                // outputs of the layer
  int64_t n = 0;                // inputs of the layer
  int64_t k = 0;                // tokens
  ConstValues output_gradient;  // [k, m]
  int64_t output_stride = 0;
  ConstValues input;  // [k, n]
  int64_t input_stride = 0;
  GradientOut gradient;
};
absl::Status WeightGradientReference(const KernelContext& context, const WeightGradient& args);
absl::Status WeightGradientHost(const KernelContext& context, const WeightGradient& args);
// As GemmCuda. A gradient that is rounded before it is added to the sum passes through the device
// workspace, RoundedRowsAtOnce(m, n) rows at a time; other gradients need no workspace.
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

// The gradient of a bias: the sums of the columns of output_gradient[tokens, width]. The tokens of
// a tile of 64 are added in fp32, and the tiles in fp64, both in ascending order.
struct BiasGradient {
  int64_t tokens = 0;
  int64_t width = 0;
  ConstValues output_gradient;  // [tokens, width], contiguous
  GradientOut gradient;
};
absl::Status BiasGradientReference(const KernelContext& context, const BiasGradient& args);
absl::Status BiasGradientHost(const KernelContext& context, const BiasGradient& args);
// output_gradient is bf16 in device memory. The same numbers give the bits of the host kernel. The
// sums need a device workspace of LeastColumnScratchBytes(width) (cuda_column_scratch.h) or more.
// See rms_norm.h for what all CUDA kernels have in common.
absl::Status BiasGradientCuda(const KernelContext& context, const BiasGradient& args);

}  // namespace horizon
