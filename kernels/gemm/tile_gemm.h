#pragma once

#include <cstdint>

#include "kernels/gemm/transposed.h"

namespace horizon {

// A matrix multiply that is too small for BLAS (a tile of attention, the rows of one expert), on
// the calling thread:
//
//   C[m, n] = op(A)[m, k] B[k, n], or C + op(A) B with `accumulate`
//
// Row-major fp32; strides are elements from one row to the next, as stored. op transposes if
// `a_transposed`, and A is stored as [k, m] then. It is for tiles that lie in a core's caches: A is
// read where it is, and B is packed by the caller (kernels/host/pack_rows-inl.h), so n is a
// multiple of kLaneGroup.
//
// An entry is the sum of its terms in ascending order of k, from zero on and in fp32 (with fused
// multiply-adds where the processor has them), and then added to C. So it has the same bits
// whatever m and n are, where in C it lies and whether A is transposed.
struct TileGemm {
  Transposed a_transposed = Transposed::kNo;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  const float* a = nullptr;
  int64_t a_stride = 0;
  const float* b = nullptr;
  int64_t b_stride = 0;
  bool accumulate = false;
  float* c = nullptr;
  int64_t c_stride = 0;
};
void ComputeTileGemm(const TileGemm& gemm);

// Columns that are computed together: as many as the longest vector has lanes.
inline constexpr int64_t kLaneGroup = 16;

}  // namespace horizon
