#include "common/check.h"
#include "kernels/elementwise/residual.h"
#include "kernels/host/pieces.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/residual_host.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/host/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace horizon {
namespace HWY_NAMESPACE {
namespace {

void AddRun(const ResidualAdd& args, int64_t first, int64_t count) {
  const F32 f32;
  const F32Vec scale = hn::Set(f32, args.scale);
  const float* residuals = args.residual == nullptr ? nullptr : args.residual + first;
  const float* branches = args.branch + first;
  float* outputs = args.output + first;
  ForEachVector(count, [&](int64_t i, int64_t n) HORIZON_VECTOR_BODY {
    F32Vec sum = hn::Mul(scale, LoadPart(f32, branches + i, n));
    if (residuals != nullptr) sum = hn::Add(LoadPart(f32, residuals + i, n), sum);
    StorePart(f32, sum, outputs + i, n);
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace horizon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace horizon {
namespace {

HWY_EXPORT(AddRun);

constexpr int64_t kPiece = kPieceBytes / static_cast<int64_t>(sizeof(float));

}  // namespace

absl::Status ResidualAddHost(const KernelContext& context, const ResidualAdd& args) {
  CHECK(args.count >= 0);
  RunPieces(context, args.count, kPiece, [&](int64_t first, int64_t count) {
    HWY_DYNAMIC_DISPATCH(AddRun)(args, first, count);
  });
  return absl::OkStatus();
}

}  // namespace horizon
#endif  // HWY_ONCE
