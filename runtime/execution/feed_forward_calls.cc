// The template of a feed-forward stage: gate and up, the gated linear unit, down projection.
#include "common/status_macros.h"
#include "model/stages/feed_forward.h"
#include "runtime/execution/stage_calls.h"

namespace horizon {
namespace {

GluActivation KernelActivation(Activation activation) {
  return activation == Activation::kGeluTanh ? GluActivation::kGeluTanh : GluActivation::kSilu;
}

class FeedForwardCalls : public BranchCalls {
 public:
  using BranchCalls::BranchCalls;

  absl::Status Forward(const StageForward& args) {
    StageArrays arrays = ForwardArrays(args);
    const Branch branch(arrays);
    const Values gate = arrays.Get(ArrayRole::kGate);
    const Values up = arrays.Get(ArrayRole::kUp);
    const Values activated = arrays.Get(ArrayRole::kActivated);
    RETURN_IF_ERROR(arrays.status());
    RETURN_IF_ERROR(KeepInput(args));
    const ConstValues x = ProjectionInput(branch, args.input);
    if (HasUnit(kGateUnit)) {
      RETURN_IF_ERROR(NormInput(branch, args.input));
      RETURN_IF_ERROR(Linear(x, Gate(), gate));
    }
    if (HasUnit(kUpUnit)) RETURN_IF_ERROR(Linear(x, Up(), up));
    // Recompute that keeps gate and up alone needs nothing behind them.
    const bool goes_on = args.output != nullptr || s_.spec.norm_after();
    if (!HasUnit(kDownUnit) || !goes_on) return absl::OkStatus();
    RETURN_IF_ERROR(Activate(gate, up, activated));
    return FinishForward(args, branch, activated, Down());
  }

  absl::Status Backward(const StageBackward& args) {
    gradient_ = args.gradient;
    StageArrays arrays = BackwardArrays(args);
    const Branch branch(arrays);
    const Values gate = arrays.Get(ArrayRole::kGate);
    const Values up = arrays.Get(ArrayRole::kUp);
    const Values activated = arrays.Get(ArrayRole::kActivated);
    const Values gate_gradient = arrays.Get(ArrayRole::kGateGradient);
    const Values up_gradient = arrays.Get(ArrayRole::kUpGradient);
    RETURN_IF_ERROR(arrays.status());
    const ConstValues x = ProjectionInput(branch, branch.input);
    if (HasUnit(kDownUnit)) {
      ConstValues gradient;
      RETURN_IF_ERROR(StartBackward(args, branch, gradient));
      if (GoesBelow(BackwardDepth::kOutputProjection)) {
        // The gradient of what was activated becomes that of the gate in place.
        RETURN_IF_ERROR(InputGradient(gradient, Down(), gate_gradient));
        RETURN_IF_ERROR(
            s_.kernels.glu_backward(context_, {.activation = KernelActivation(s_.spec.activation),
                                               .count = tokens_ * width(),
                                               .gate = gate,
                                               .up = up,
                                               .output_gradient = gate_gradient,
                                               .output = activated,
                                               .gate_gradient = gate_gradient,
                                               .up_gradient = up_gradient}));
      } else if (Trains(TensorRole::kDown)) {
        RETURN_IF_ERROR(Activate(gate, up, activated));
      }
      RETURN_IF_ERROR(WeightGradients(activated, Down(), gradient));
    }
    if (!GoesBelow(BackwardDepth::kOutputProjection)) return absl::OkStatus();
    const Values sum(branch.normed_gradient);
    const bool sums = GoesBelow(BackwardDepth::kInputProjections);
    if (HasUnit(kUpUnit)) {
      const bool multiplies_input = Trains(TensorRole::kUp) || Trains(TensorRole::kGate);
      if (multiplies_input) RETURN_IF_ERROR(RecomputeNormedInput(branch, args.kept));
      if (sums) RETURN_IF_ERROR(InputGradient(up_gradient, Up(), sum));
      RETURN_IF_ERROR(WeightGradients(x, Up(), up_gradient));
    }
    if (!HasUnit(kGateUnit)) return absl::OkStatus();
    if (sums) RETURN_IF_ERROR(InputGradient(gate_gradient, Gate(), sum, sum));
    RETURN_IF_ERROR(WeightGradients(x, Gate(), gate_gradient));
    return FinishBackward(args, branch);
  }

 private:
  absl::Status Activate(ConstValues gate, ConstValues up, Values activated) {
    return s_.kernels.glu_forward(context_, {.activation = KernelActivation(s_.spec.activation),
                                             .count = tokens_ * width(),
                                             .gate = gate,
                                             .up = up,
                                             .output = activated});
  }

  int64_t width() const { return s_.spec.intermediate; }
  Matrix Gate() const { return {TensorRole::kGate, TensorRole::kGateBias, hidden_, width()}; }
  Matrix Up() const { return {TensorRole::kUp, TensorRole::kUpBias, hidden_, width()}; }
  Matrix Down() const { return {TensorRole::kDown, TensorRole::kDownBias, width(), hidden_}; }
};

}  // namespace

absl::Status FeedForwardForwardPass(const LayerShapes& shapes, const StageForward& args,
                                    const KernelContext& context) {
  return FeedForwardCalls(shapes, args.stage, args.units, args.weights, context).Forward(args);
}

absl::Status FeedForwardBackwardPass(const LayerShapes& shapes, const StageBackward& args,
                                     const KernelContext& context) {
  return FeedForwardCalls(shapes, args.stage, args.units, args.weights, context).Backward(args);
}

}  // namespace horizon
