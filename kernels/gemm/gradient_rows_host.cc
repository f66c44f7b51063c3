#include "kernels/gemm/gradient_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/gradient_rows_host.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/host/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace horizon {
namespace HWY_NAMESPACE {

void StoreRows(const GradientRows& rows) {
  for (int64_t i = 0; i < rows.rows; ++i) {
    StoreGradients(rows.gradient.From(i * rows.gradient_stride), rows.sums + i * rows.columns,
                   rows.columns);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace horizon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace horizon {
namespace {

HWY_EXPORT(StoreRows);

}  // namespace

void StoreGradientRows(const GradientRows& rows) { HWY_DYNAMIC_DISPATCH(StoreRows)(rows); }

}  // namespace horizon
#endif  // HWY_ONCE
