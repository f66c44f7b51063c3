#include "common/check.h"
#include "kernels/gemm/few_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/few_rows_host.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/host/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace horizon {
namespace HWY_NAMESPACE {

void Store(const FewRows& args, int64_t row, int64_t column, float value) {
  float* c = args.c + row * args.c_stride + column;
  *c = args.accumulate ? *c + value : value;
}

// The entries of kRows rows from `row` on in one column. The lanes are those of Dot.
template <int kRows>
HWY_INLINE void Entries(const FewRows& args, int64_t row, int64_t column) {
  const F32 f32;
  const float* a = args.a + row * args.a_stride;
  const float* b = args.b + column * args.b_stride;
  F32Vec lanes[kRows][kLogicalLaneVectors];
  for (auto& of_row : lanes) {
    for (F32Vec& vector : of_row) vector = hn::Zero(f32);
  }
  int64_t i = 0;
  for (; i + kLogicalLanes <= args.k; i += kLogicalLanes) {
    for (int64_t j = 0; j < kLogicalLaneVectors; ++j) {
      const int64_t at = i + j * kF32Lanes;
      const F32Vec of_b = hn::LoadU(f32, b + at);
      for (int x = 0; x < kRows; ++x) {
        const F32Vec of_a = hn::LoadU(f32, a + x * args.a_stride + at);
        lanes[x][j] = hn::Add(lanes[x][j], hn::Mul(of_a, of_b));
      }
    }
  }
  for (int64_t j = 0; i < args.k; ++j, i += kF32Lanes) {
    const int64_t count = HWY_MIN(kF32Lanes, args.k - i);
    const F32Vec of_b = LoadPart(f32, b + i, count);
    for (int x = 0; x < kRows; ++x) {
      const F32Vec of_a = LoadPart(f32, a + x * args.a_stride + i, count);
      lanes[x][j] = hn::Add(lanes[x][j], hn::Mul(of_a, of_b));
    }
  }
  for (int x = 0; x < kRows; ++x) {
    LogicalLanes sum(0.0f);
    for (int64_t j = 0; j < kLogicalLaneVectors; ++j) sum.vectors[j] = lanes[x][j];
    Store(args, row + x, column, sum.Sum());
  }
}

// A row of B at a time, so that memory is read in one stream. What all rows of A do with it then
// comes out of the cache.
void Multiply(const FewRows& args) {
  for (int64_t column = 0; column < args.n; ++column) {
    int64_t row = 0;
    for (; row + 4 <= args.m; row += 4) Entries<4>(args, row, column);
    for (; row + 2 <= args.m; row += 2) Entries<2>(args, row, column);
    if (row < args.m) Entries<1>(args, row, column);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace horizon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace horizon {
namespace {

HWY_EXPORT(Multiply);

}  // namespace

void MultiplyFewRows(const FewRows& args) {
  CHECK(args.m <= kFewRows);
  HWY_DYNAMIC_DISPATCH(Multiply)(args);
}

}  // namespace horizon
#endif  // HWY_ONCE
