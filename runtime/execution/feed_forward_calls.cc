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
    // The memory is checked before anything is written.
    StageArrays all = ForwardArrays(args, AllTokens());
    const Arrays unused(all);
    RETURN_IF_ERROR(all.status());
    RETURN_IF_ERROR(KeepInput(args));
    return ForEachPiece(tokens_, [&](const TokenRange& piece) {
      StageArrays arrays = ForwardArrays(args, piece);
      return ForwardPiece(piece, args, Arrays(arrays));
    });
  }

  absl::Status Backward(const StageBackward& args) {
    // No shard has all matrices, and an array of one piece does not pass from shard to shard.
    CHECK(!in_shards() || (keeps() && tokens_ <= piece_tokens()));
    gradient_ = args.gradient;
    StageArrays all = BackwardArrays(args, AllTokens());
    const Arrays unused(all);
    const Gradients unused_gradients(all);
    gradient_sum_ = all.GetFp32IfAny(ArrayRole::kWeightGradientSum);
    RETURN_IF_ERROR(all.status());
    RETURN_IF_ERROR(ForEachPiece(tokens_, [&](const TokenRange& piece) {
      StageArrays arrays = BackwardArrays(args, piece);
      return BackwardPiece(piece, args, Arrays(arrays), Gradients(arrays));
    }));
    return StoreGradientSums();
  }

 private:
  struct Arrays {
    Branch branch;
    Values gate, up, activated;
    explicit Arrays(StageArrays& arrays)
        : branch(arrays),
          gate(arrays.Get(ArrayRole::kGate)),
          up(arrays.Get(ArrayRole::kUp)),
          activated(arrays.Get(ArrayRole::kActivated)) {}
  };
  struct Gradients {
    Values gate, up;
    explicit Gradients(StageArrays& arrays)
        : gate(arrays.Get(ArrayRole::kGateGradient)), up(arrays.Get(ArrayRole::kUpGradient)) {}
  };

  absl::Status ForwardPiece(const TokenRange& piece, const StageForward& args, const Arrays& a) {
    const ConstValues x = ProjectionInput(a.branch, From(args.input, piece));
    if (HasUnit(kGateUnit)) RETURN_IF_ERROR(NormInput(piece, a.branch, args.input));
    const bool wanted = args.output != nullptr;
    // Backward computes the rest again.
    if (!wanted && !keeps()) return absl::OkStatus();
    if (HasUnit(kGateUnit)) RETURN_IF_ERROR(Linear(piece, x, Gate(), a.gate));
    if (HasUnit(kUpUnit)) RETURN_IF_ERROR(Linear(piece, x, Up(), a.up));
    // Recompute that keeps gate and up alone needs nothing behind them.
    const bool goes_on = wanted || s_.spec.norm_after();
    if (!HasUnit(kDownUnit) || !goes_on) return absl::OkStatus();
    RETURN_IF_ERROR(Activate(piece, a));
    return FinishForward(piece, args, a.branch, a.activated, Down());
  }

  absl::Status BackwardPiece(const TokenRange& piece, const StageBackward& args, const Arrays& a,
                             const Gradients& d) {
    const ConstValues x = ProjectionInput(a.branch, a.branch.input);
    const bool reads_gate_and_up = GoesBelow(BackwardDepth::kOutputProjection) ||
                                   Trains(TensorRole::kDown) || s_.spec.norm_after();
    const bool computes_again = !keeps() && reads_gate_and_up;
    if (computes_again) RETURN_IF_ERROR(ForwardAgain(piece, args, x, a));
    if (HasUnit(kDownUnit)) {
      ConstValues gradient;
      RETURN_IF_ERROR(StartBackward(piece, args, a.branch, gradient));
      if (GoesBelow(BackwardDepth::kOutputProjection)) {
        // The gradient of what was activated becomes that of the gate in place.
        RETURN_IF_ERROR(InputGradient(piece, gradient, Down(), d.gate));
        RETURN_IF_ERROR(
            s_.kernels.glu_backward(context_, {.activation = KernelActivation(s_.spec.activation),
                                               .count = piece.count * width(),
                                               .gate = a.gate,
                                               .up = a.up,
                                               .output_gradient = d.gate,
                                               .output = a.activated,
                                               .gate_gradient = d.gate,
                                               .up_gradient = d.up}));
      } else if (Trains(TensorRole::kDown)) {
        RETURN_IF_ERROR(Activate(piece, a));
      }
      RETURN_IF_ERROR(WeightGradients(piece, a.activated, Down(), gradient));
    }
    if (!GoesBelow(BackwardDepth::kOutputProjection)) return absl::OkStatus();
    const Values sum(a.branch.normed_gradient);
    const bool sums = GoesBelow(BackwardDepth::kInputProjections);
    if (HasUnit(kUpUnit)) {
      const bool multiplies_input = Trains(TensorRole::kUp) || Trains(TensorRole::kGate);
      if (multiplies_input && !computes_again) {
        RETURN_IF_ERROR(RecomputeNormedInput(piece, a.branch, args.kept));
      }
      if (sums) RETURN_IF_ERROR(InputGradient(piece, d.up, Up(), sum));
      RETURN_IF_ERROR(WeightGradients(piece, x, Up(), d.up));
    }
    if (!HasUnit(kGateUnit)) return absl::OkStatus();
    if (sums) RETURN_IF_ERROR(InputGradient(piece, d.gate, Gate(), sum, sum));
    RETURN_IF_ERROR(WeightGradients(piece, x, Gate(), d.gate));
    return FinishBackward(piece, args, a.branch);
  }

  // Computes again what forward did not keep: gate and up, and what the norm after reads.
  absl::Status ForwardAgain(const TokenRange& piece, const StageBackward& args, ConstValues x,
                            const Arrays& a) {
    RETURN_IF_ERROR(RecomputeNormedInput(piece, a.branch, args.kept));
    RETURN_IF_ERROR(Linear(piece, x, Gate(), a.gate));
    RETURN_IF_ERROR(Linear(piece, x, Up(), a.up));
    if (!s_.spec.norm_after()) return absl::OkStatus();
    RETURN_IF_ERROR(Activate(piece, a));
    return Project(piece, a.branch, a.activated, Down());
  }

  absl::Status Activate(const TokenRange& piece, const Arrays& a) {
    return s_.kernels.glu_forward(context_, {.activation = KernelActivation(s_.spec.activation),
                                             .count = piece.count * width(),
                                             .gate = a.gate,
                                             .up = a.up,
                                             .output = a.activated});
  }

  bool keeps() const { return template_.options().keep_feed_forward; }
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
