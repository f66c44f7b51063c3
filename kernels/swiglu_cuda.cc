#include "common/cuda_status.h"
#include "common/status_macros.h"
#include "common/str_cat.h"
#include "kernels/cuda_arguments.h"
#include "kernels/swiglu.h"
#include "kernels/swiglu_launch.h"

namespace horizon {

absl::Status SwigluForwardCuda(const KernelContext& context, const SwigluForward& args) {
  CudaArguments arguments(context, "SwiGLU");
  RETURN_IF_ERROR(arguments.Size("count", args.count).status());
  if (args.count == 0) return absl::OkStatus();
  RETURN_IF_ERROR(
      arguments.Bf16("gate", args.gate).Bf16("up", args.up).Bf16("output", args.output).status());
  const SwigluValues values{.count = args.count,
                            .gate = args.gate.bf16(),
                            .up = args.up.bf16(),
                            .output = args.output.bf16()};
  return RunOnCuda(StrCat("take the SwiGLU of ", args.count, " gates on the CUDA device"),
                   [&] { return LaunchSwigluForward(values, context.stream); });
}

absl::Status SwigluBackwardCuda(const KernelContext& context, const SwigluBackward& args) {
  CudaArguments arguments(context, "the gradient of SwiGLU");
  RETURN_IF_ERROR(arguments.Size("count", args.count).status());
  if (args.count == 0) return absl::OkStatus();
  RETURN_IF_ERROR(arguments.Bf16("gate", args.gate)
                      .Bf16("up", args.up)
                      .Bf16("output_gradient", args.output_gradient)
                      .Bf16OrNull("output", args.output)
                      .Bf16("gate_gradient", args.gate_gradient)
                      .Bf16("up_gradient", args.up_gradient)
                      .status());
  const SwigluGradients gradients{.count = args.count,
                                  .gate = args.gate.bf16(),
                                  .up = args.up.bf16(),
                                  .output_gradient = args.output_gradient.bf16(),
                                  .output = args.output.bf16(),
                                  .gate_gradient = args.gate_gradient.bf16(),
                                  .up_gradient = args.up_gradient.bf16()};
  return RunOnCuda(
      StrCat("take the gradient of the SwiGLU of ", args.count, " gates on the CUDA device"),
      [&] { return LaunchSwigluBackward(gradients, context.stream); });
}

}  // namespace horizon
