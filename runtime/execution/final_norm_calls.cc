// The template of the final norm.
#include "common/status_macros.h"
#include "runtime/execution/stage_calls.h"

namespace horizon {
namespace {

class FinalNormCalls : public StageCalls {
 public:
  using StageCalls::StageCalls;

  absl::Status Forward(const StageForward& args) {
    StageArrays arrays = ForwardArrays(args, AllTokens());
    const Values unused_output = arrays.Get(ArrayRole::kNormed);
    float* inverse_rms = arrays.GetFp32IfAny(ArrayRole::kInverseRms);
    RETURN_IF_ERROR(arrays.status());
    RETURN_IF_ERROR(KeepInput(args));
    return NormForward(Shape(), args.input, args.output == nullptr ? unused_output : args.output,
                       inverse_rms);
  }

  absl::Status Backward(const StageBackward& args) {
    gradient_ = args.gradient;
    StageArrays arrays = BackwardArrays(args, AllTokens());
    const Values input = arrays.Get(ArrayRole::kInput);
    const float* inverse_rms = arrays.GetFp32(ArrayRole::kInverseRms);
    RETURN_IF_ERROR(arrays.status());
    return NormBackward(Shape(), input, inverse_rms, args.output_gradient, {}, args.input_gradient,
                        GradientOf(TensorRole::kNorm));
  }

 private:
  NormShape Shape() const { return {TensorRole::kNorm, tokens_, hidden_}; }
};

}  // namespace

absl::Status FinalNormForwardPass(const LayerShapes& shapes, const StageForward& args,
                                  const KernelContext& context) {
  return FinalNormCalls(shapes, args.stage, args.units, args.weights, context).Forward(args);
}

absl::Status FinalNormBackwardPass(const LayerShapes& shapes, const StageBackward& args,
                                   const KernelContext& context) {
  return FinalNormCalls(shapes, args.stage, args.units, args.weights, context).Backward(args);
}

}  // namespace horizon
