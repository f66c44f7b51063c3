#include "common/check.h"
#include "kernels/activation/glu.h"
#include "kernels/host/pieces.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/activation/glu_host.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/activation/glu_vectors-inl.h"
#include "kernels/host/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace horizon {
namespace HWY_NAMESPACE {
namespace {

template <GluActivation kActivation>
void ForwardOf(const GluForward& args, int64_t first, int64_t count) {
  const F32 f32;
  const float* gates = args.gate + first;
  const float* ups = args.up + first;
  float* outputs = args.output + first;
  ForEachVector(count, [&](int64_t i, int64_t n) HORIZON_VECTOR_BODY {
    const F32Vec gate = LoadPart(f32, gates + i, n);
    const F32Vec value = hn::Mul(gate, SigmoidOf<kActivation>(gate));
    StorePart(f32, hn::Mul(value, LoadPart(f32, ups + i, n)), outputs + i, n);
  });
}

template <GluActivation kActivation>
void BackwardOf(const GluBackward& args, int64_t first, int64_t count) {
  const F32 f32;
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
    const F32Vec sigmoid = SigmoidOf<kActivation>(gate);
    const F32Vec value = hn::Mul(gate, sigmoid);
    const F32Vec slope = SlopeOf<kActivation>(gate, sigmoid, value);
    if (outputs != nullptr) StorePart(f32, hn::Mul(value, up), outputs + i, n);
    StorePart(f32, hn::Mul(hn::Mul(gradient, up), slope), gate_gradients + i, n);
    StorePart(f32, hn::Mul(gradient, value), up_gradients + i, n);
  });
}

void ForwardRun(const GluForward& args, int64_t first, int64_t count) {
  if (args.activation == GluActivation::kGeluTanh) {
    return ForwardOf<GluActivation::kGeluTanh>(args, first, count);
  }
  ForwardOf<GluActivation::kSilu>(args, first, count);
}

void BackwardRun(const GluBackward& args, int64_t first, int64_t count) {
  if (args.activation == GluActivation::kGeluTanh) {
    return BackwardOf<GluActivation::kGeluTanh>(args, first, count);
  }
  BackwardOf<GluActivation::kSilu>(args, first, count);
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

absl::Status GluForwardHost(const KernelContext& context, const GluForward& args) {
  CHECK(args.count >= 0);
  RunPieces(context, args.count, kPiece, [&](int64_t first, int64_t count) {
    HWY_DYNAMIC_DISPATCH(ForwardRun)(args, first, count);
  });
  return absl::OkStatus();
}

absl::Status GluBackwardHost(const KernelContext& context, const GluBackward& args) {
  CHECK(args.count >= 0);
  RunPieces(context, args.count, kPiece, [&](int64_t first, int64_t count) {
    HWY_DYNAMIC_DISPATCH(BackwardRun)(args, first, count);
  });
  return absl::OkStatus();
}

}  // namespace horizon
#endif  // HWY_ONCE
