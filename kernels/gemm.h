#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/gradient_out.h"

namespace horizon {

// Products of fp32 matrices, row-major, in the three forms a linear layer with weights W[out, in]
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
  const float* a = nullptr;
  int64_t a_stride = 0;  // elements from one row to the next, as stored
  const float* b = nullptr;
  int64_t b_stride = 0;
  float* c = nullptr;
  int64_t c_stride = 0;
  const float* bias = nullptr;     // [n], added to each row; null: none
  const float* initial = nullptr;  // [m,n] with c_stride, what the product is added to: a residual,
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

// dW[m,n] = A[k,m]^T B[k,n] into a gradient (contiguous, n to a row): each tile is summed in
// scratch and stored once.
struct WeightGradient {
  int64_t m = 0;                           // outputs
  int64_t n = 0;                           // inputs
  int64_t k = 0;                           // tokens
  const float* output_gradient = nullptr;  // [k, m]
  int64_t output_stride = 0;
  const float* input = nullptr;  // [k, n]
  int64_t input_stride = 0;
  GradientOut gradient;
};
absl::Status WeightGradientReference(const KernelContext& context, const WeightGradient& args);
absl::Status WeightGradientHost(const KernelContext& context, const WeightGradient& args);

// The gradient of a bias: columns of output_gradient[tokens, width] added up. Tokens are summed in
// tiles of 64 (fp32), tiles in fp64, in ascending order.
struct BiasGradient {
  int64_t tokens = 0;
  int64_t width = 0;
  const float* output_gradient = nullptr;  // [tokens, width], contiguous
  GradientOut gradient;
};
absl::Status BiasGradientReference(const KernelContext& context, const BiasGradient& args);
absl::Status BiasGradientHost(const KernelContext& context, const BiasGradient& args);

}  // namespace horizon
