#pragma once

#include <cstdint>

namespace horizon {

// C[m, n] = A[m, k] B[n, k]^T of at most kFewRows rows of A, on the calling thread: a matrix of
// weights times one token, or a few. BLAS copies B before it multiplies, which costs more than the
// product here; this reads B once, as fast as memory gives it.
//
// Each entry is a sum of 16 lanes (simd_math-inl.h) that depends on its row of A, its row of B and
// k alone: not on m, n or where a product is cut.
inline constexpr int64_t kFewRows = 8;

struct FewRows {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  const float* a = nullptr;
  int64_t a_stride = 0;
  const float* b = nullptr;
  int64_t b_stride = 0;
  bool adds = false;  // to what C holds
  float* c = nullptr;
  int64_t c_stride = 0;
};
void MultiplyFewRows(const FewRows& args);

}  // namespace horizon
