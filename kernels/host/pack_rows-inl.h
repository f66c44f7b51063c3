// Copies of rows and columns for the micro-kernel of kernels/gemm/tile_gemm.h, written with
// Highway. Include it as kernels/host/simd_math-inl.h.

#if defined(HORIZON_KERNELS_PACK_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HORIZON_KERNELS_PACK_ROWS_INL_H_
#undef HORIZON_KERNELS_PACK_ROWS_INL_H_
#else
#define HORIZON_KERNELS_PACK_ROWS_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/host/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace horizon {
namespace HWY_NAMESPACE {

// to[j, i] = factor x from[i, j] for i < rows and j < columns.
HWY_INLINE void TransposeScaled(const float* from, int64_t from_stride, int64_t rows,
                                int64_t columns, float factor, float* to, int64_t to_stride) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::FixedTag<float, 4> four;
  const auto scale = hn::Set(four, factor);
  for (; i + 4 <= rows; i += 4) {
    const float* row = from + i * from_stride;
    int64_t j = 0;
    for (; j + 4 <= columns; j += 4) {
      const auto row0 = hn::Mul(scale, hn::LoadU(four, row + j));
      const auto row1 = hn::Mul(scale, hn::LoadU(four, row + from_stride + j));
      const auto row2 = hn::Mul(scale, hn::LoadU(four, row + 2 * from_stride + j));
      const auto row3 = hn::Mul(scale, hn::LoadU(four, row + 3 * from_stride + j));
      const auto even01 = hn::InterleaveLower(four, row0, row2);
      const auto odd01 = hn::InterleaveLower(four, row1, row3);
      const auto even23 = hn::InterleaveUpper(four, row0, row2);
      const auto odd23 = hn::InterleaveUpper(four, row1, row3);
      float* column = to + j * to_stride + i;
      hn::StoreU(hn::InterleaveLower(four, even01, odd01), four, column);
      hn::StoreU(hn::InterleaveUpper(four, even01, odd01), four, column + to_stride);
      hn::StoreU(hn::InterleaveLower(four, even23, odd23), four, column + 2 * to_stride);
      hn::StoreU(hn::InterleaveUpper(four, even23, odd23), four, column + 3 * to_stride);
    }
    for (; j < columns; ++j) {
      for (int64_t r = 0; r < 4; ++r) {
        to[j * to_stride + i + r] = factor * row[r * from_stride + j];
      }
    }
  }
#endif
  for (; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j)
      to[j * to_stride + i] = factor * from[i * from_stride + j];
  }
}

// Columns of a transposed tile, [width, padded], from rows [count, width]; those past `count` are
// 0.
HWY_INLINE void PackColumns(const float* from, int64_t from_stride, int64_t count, int64_t width,
                            float factor, float* to, int64_t to_stride, int64_t padded) {
  TransposeScaled(from, from_stride, count, width, factor, to, to_stride);
  for (int64_t d = 0; d < width && count < padded; ++d) {
    std::fill(to + d * to_stride + count, to + d * to_stride + padded, 0.0f);
  }
}

// to[i, j] = factor x from[i, j]; columns width .. padded - 1 are 0.
HWY_INLINE void PackRows(const float* from, int64_t from_stride, int64_t count, int64_t width,
                         float factor, float* to, int64_t to_stride, int64_t padded) {
  const F32 f32;
  for (int64_t i = 0; i < count; ++i, from += from_stride, to += to_stride) {
    ForEachVector(width, [&](int64_t j, int64_t n) HORIZON_VECTOR_BODY {
      StorePart(f32, hn::Mul(hn::Set(f32, factor), LoadPart(f32, from + j, n)), to + j, n);
    });
    std::fill(to + width, to + padded, 0.0f);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace horizon
HWY_AFTER_NAMESPACE();

#endif  // HORIZON_KERNELS_PACK_ROWS_INL_H_
