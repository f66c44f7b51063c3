#include "common/cuda_status.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "kernels/activation/glu.h"
#include "kernels/activation/glu_launch.h"
#include "kernels/cuda/cuda_arguments.h"

namespace horizon {

absl::Status GluForwardCuda(const KernelContext& context, const GluForward& args) {
  CudaArguments arguments(context, "the GLU");
  RETURN_IF_ERROR(arguments.Size("count", args.count).status());
  if (args.count == 0) return absl::OkStatus();
  RETURN_IF_ERROR(
      arguments.Bf16("gate", args.gate).Bf16("up", args.up).Bf16("output", args.output).status());
  const GluForwardLaunch values{.activation = args.activation,
                                .count = args.count,
                                .gate = args.gate.bf16(),
                                .up = args.up.bf16(),
                                .output = args.output.bf16()};
  return RunOnCuda(StrCat("take the GLU of ", args.count, " gates on the CUDA device"),
                   [&] { return LaunchGluForward(values, context.stream); });
}

absl::Status GluBackwardCuda(const KernelContext& context, const GluBackward& args) {
  CudaArguments arguments(context, "the gradient of the GLU");
  RETURN_IF_ERROR(arguments.Size("count", args.count).status());
  if (args.count == 0) return absl::OkStatus();
  RETURN_IF_ERROR(arguments.Bf16("gate", args.gate)
                      .Bf16("up", args.up)
                      .Bf16("output_gradient", args.output_gradient)
                      .Bf16OrNull("output", args.output)
                      .Bf16("gate_gradient", args.gate_gradient)
                      .Bf16("up_gradient", args.up_gradient)
                      .status());
  const GluBackwardLaunch gradients{.activation = args.activation,
                                    .count = args.count,
                                    .gate = args.gate.bf16(),
                                    .up = args.up.bf16(),
                                    .output_gradient = args.output_gradient.bf16(),
                                    .output = args.output.bf16(),
                                    .gate_gradient = args.gate_gradient.bf16(),
                                    .up_gradient = args.up_gradient.bf16()};
  return RunOnCuda(
      StrCat("take the gradient of the GLU of ", args.count, " gates on the CUDA device"),
      [&] { return LaunchGluBackward(gradients, context.stream); });
}

}  // namespace horizon
