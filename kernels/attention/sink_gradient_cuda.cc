#include "common/cuda_status.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "kernels/attention/sink_gradient.h"
#include "kernels/attention/sink_gradient_launch.h"
#include "kernels/cuda/cuda_arguments.h"
#include "kernels/cuda/cuda_column_scratch.h"

namespace horizon {

absl::Status SinkGradientCuda(const KernelContext& context, const SinkGradient& args) {
  CudaArguments arguments(context, "the gradient of attention sinks");
  RETURN_IF_ERROR(arguments.Size("tokens", args.tokens).Size("heads", args.heads).status());
  if (args.heads == 0) return absl::OkStatus();
  if (args.tokens > 0) {
    RETURN_IF_ERROR(arguments.Array("log_sum_exp", args.log_sum_exp)
                        .Array("output_dot", args.output_dot)
                        .status());
  }
  RETURN_IF_ERROR(arguments.Bf16("sinks", args.sinks)
                      .Gradient("gradient", args.gradient)
                      .Workspace(static_cast<uint64_t>(LeastColumnScratchBytes(args.heads)))
                      .status());
  const SinkGradientLaunch launch{
      .tokens = args.tokens,
      .heads = args.heads,
      .sinks = args.sinks.bf16(),
      .log_sum_exp = args.log_sum_exp,
      .output_dot = args.output_dot,
      .gradient = args.gradient,
      .scratch = context.device_workspace.data(),
      .scratch_bytes = static_cast<int64_t>(context.device_workspace.size())};
  return RunOnCuda(StrCat("sum the gradient of the sinks of ", args.heads, " heads over ",
                          args.tokens, " tokens on the CUDA device"),
                   [&] { return LaunchSinkGradient(launch, context.stream); });
}

}  // namespace horizon
