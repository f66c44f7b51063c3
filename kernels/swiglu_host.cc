#include "common/check.h"
#include "kernels/pieces.h"
#include "kernels/swiglu.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/swiglu_host.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace horizon {
namespace HWY_NAMESPACE {
namespace {

void ForwardRun(const SwigluForward& args, int64_t first, int64_t count) {
  const F32 f32;
  const float* gates = args.gate + first;
  const float* ups = args.up + first;
  float* outputs = args.output + first;
  ForEachVector(count, [&](int64_t i, int64_t n) HORIZON_VECTOR_BODY {
    const F32Vec silu = Silu(LoadPart(f32, gates + i, n));
    StorePart(f32, hn::Mul(silu, LoadPart(f32, ups + i, n)), outputs + i, n);
  });
}

void BackwardRun(const SwigluBackward& args, int64_t first, int64_t count) {
  const F32 f32;
  const F32Vec one = hn::Set(f32, 1.0f);
  const float* gates = args.gate + first;
  const float* ups = args.up + first;
  const float* gradients = args.output_gradient + first;
  float* outputs = args.output == nullptr ? nullptr : args.output + first;
  float* gate_gradients = args.gate_gradient + first;
  float* up_gradients = args.up_gradient + first;
  ForEachVector(count, [&](int64_t i, int64_t n) HORIZON_VECTOR_BODY {
    const F32Vec gate = LoadPart(f32, gates + i, n);
    const F32Vec up = LoadPart(f32, ups + i, n);
    const F32Vec gradient = LoadPart(f32, gradients + i, n);
    const F32Vec sigmoid = Sigmoid(gate);
    const F32Vec silu = hn::Mul(gate, sigmoid);
    const F32Vec slope = hn::Add(sigmoid, hn::Mul(silu, hn::Sub(one, sigmoid)));
    if (outputs != nullptr) StorePart(f32, hn::Mul(silu, up), outputs + i, n);
    StorePart(f32, hn::Mul(hn::Mul(gradient, up), slope), gate_gradients + i, n);
    StorePart(f32, hn::Mul(gradient, silu), up_gradients + i, n);
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace horizon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace horizon {
namespace {

HWY_EXPORT(ForwardRun);
HWY_EXPORT(BackwardRun);

constexpr int64_t kPiece = kPieceBytes / static_cast<int64_t>(sizeof(float));

}  // namespace

absl::Status SwigluForwardHost(const KernelContext& context, const SwigluForward& args) {
  CHECK(args.count >= 0);
  RunPieces(context, args.count, kPiece, [&](int64_t first, int64_t count) {
    HWY_DYNAMIC_DISPATCH(ForwardRun)(args, first, count);
  });
  return absl::OkStatus();
}

absl::Status SwigluBackwardHost(const KernelContext& context, const SwigluBackward& args) {
  CHECK(args.count >= 0);
  RunPieces(context, args.count, kPiece, [&](int64_t first, int64_t count) {
    HWY_DYNAMIC_DISPATCH(BackwardRun)(args, first, count);
  });
  return absl::OkStatus();
}

}  // namespace horizon
#endif  // HWY_ONCE
