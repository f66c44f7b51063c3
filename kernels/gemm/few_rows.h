#pragma once

#include <cstdint>

namespace horizon {

// A matrix multiply for few tokens, as in text generation: C[m, n] = A[m, k] B[n, k]^T with at most
// kFewRows rows of A (the tokens) and a weight matrix B, on the calling thread. BLAS copies B
// before it multiplies, which costs more than the multiply itself here; this function reads B once,
// as fast as memory delivers it.
//
// Each element of C is a sum in 16 logical lanes (simd_math-inl.h). It depends on its row of A, its
// row of B and k alone, not on m, n or where a multiply is cut.
inline constexpr int64_t kFewRows = 8;

// Strides are elements from one row to the next.
struct FewRows {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  const float* a = nullptr;
  int64_t a_stride = 0;
  const float* b = nullptr;
  int64_t b_stride = 0;
  bool accumulate = false;  // add to what C holds, instead of overwriting it
  float* c = nullptr;
  int64_t c_stride = 0;
};
void MultiplyFewRows(const FewRows& args);

}  // namespace horizon
