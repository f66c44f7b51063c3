// The template of a feed-forward stage: norm, gate and up, SwiGLU, down projection.
#include "common/status_macros.h"
#include "runtime/stage_calls.h"

namespace horizon {

absl::Status StageCalls::FeedForwardForwardPass(const StageForward& args) {
  Parts work(args.workspace, s_.activations);
  const Values normed = work.Take(tokens_ * hidden_);
  const Values activated = work.Take(tokens_ * width_);
  Parts kept_parts(args.kept, s_.activations);
  const Keeps keeps = args.kept.empty() ? Keeps::kNothing : Keeps::kAll;
  const FeedForwardKept kept(s_, keeps == Keeps::kAll ? kept_parts : work, keeps);
  if (Has(kGateUnit)) {
    RETURN_IF_ERROR(Norm(args.input, normed, kept.inverse_rms));
    RETURN_IF_ERROR(Linear(normed, Gate(), kept.gate));
  }
  if (Has(kUpUnit)) RETURN_IF_ERROR(Linear(normed, Up(), kept.up));
  if (!Has(kDownUnit) || args.output == nullptr) return absl::OkStatus();
  RETURN_IF_ERROR(s_.kernels.glu_forward(
      context_,
      {.count = tokens_ * width_, .gate = kept.gate, .up = kept.up, .output = activated}));
  return Linear(activated, Down(), args.output, args.input);
}

absl::Status StageCalls::FeedForwardBackwardPass(const StageBackward& args) {
  Parts kept_parts(args.kept, s_.activations);
  const FeedForwardKept kept(s_, kept_parts, Keeps::kAll);
  Parts work(args.workspace, s_.activations);
  const Values normed = work.Take(tokens_ * hidden_);
  const Values gate_gradient = work.Take(tokens_ * width_);
  const Values up_gradient = work.Take(tokens_ * width_);
  // What was activated is dead when down has gone back.
  const auto [activated, normed_gradient] = work.TakeAliased(tokens_ * width_, tokens_ * hidden_);
  if (Has(kDownUnit)) {
    // The gradient of what was activated becomes that of the gate in place.
    RETURN_IF_ERROR(InputGradient(args.output_gradient, Down(), gate_gradient));
    RETURN_IF_ERROR(s_.kernels.glu_backward(context_, {.count = tokens_ * width_,
                                                       .gate = kept.gate,
                                                       .up = kept.up,
                                                       .output_gradient = gate_gradient,
                                                       .output = activated,
                                                       .gate_gradient = gate_gradient,
                                                       .up_gradient = up_gradient}));
    RETURN_IF_ERROR(WeightGradients(activated, Down(), args.output_gradient));
  }
  if (Has(kUpUnit)) {
    RETURN_IF_ERROR(NormAgain(args.kept, kept.input, kept.inverse_rms, normed));
    RETURN_IF_ERROR(InputGradient(up_gradient, Up(), normed_gradient));
    RETURN_IF_ERROR(WeightGradients(normed, Up(), up_gradient));
  }
  if (!Has(kGateUnit)) return absl::OkStatus();
  RETURN_IF_ERROR(InputGradient(gate_gradient, Gate(), normed_gradient, normed_gradient));
  RETURN_IF_ERROR(WeightGradients(normed, Gate(), gate_gradient));
  return NormBackwardOfSum(kept.input, kept.inverse_rms, normed_gradient, normed, args);
}

}  // namespace horizon
