#include "common/cuda_status.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "kernels/cuda/cuda_arguments.h"
#include "kernels/cuda/cuda_column_scratch.h"
#include "kernels/gemm/bias_gradient_launch.h"
#include "kernels/gemm/gemm.h"

namespace horizon {

absl::Status BiasGradientCuda(const KernelContext& context, const BiasGradient& args) {
  CudaArguments arguments(context, "the gradient of a bias");
  RETURN_IF_ERROR(arguments.Size("tokens", args.tokens).Size("width", args.width).status());
  if (args.width == 0) return absl::OkStatus();
  if (args.tokens > 0) {
    RETURN_IF_ERROR(arguments.Bf16("output_gradient", args.output_gradient).status());
  }
  RETURN_IF_ERROR(arguments.Gradient("gradient", args.gradient)
                      .Workspace(static_cast<uint64_t>(LeastColumnScratchBytes(args.width)))
                      .status());
  const BiasGradientLaunch columns{
      .tokens = args.tokens,
      .width = args.width,
      .output_gradient = args.output_gradient.bf16(),
      .gradient = args.gradient,
      .scratch = context.device_workspace.data(),
      .scratch_bytes = static_cast<int64_t>(context.device_workspace.size())};
  return RunOnCuda(StrCat("sum the gradient of a bias of ", args.width, " over ", args.tokens,
                          " tokens on the CUDA device"),
                   [&] { return LaunchBiasGradient(columns, context.stream); });
}

}  // namespace horizon
