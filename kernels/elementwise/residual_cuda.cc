#include "common/cuda_status.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "kernels/cuda/cuda_arguments.h"
#include "kernels/elementwise/residual.h"
#include "kernels/elementwise/residual_launch.h"

namespace horizon {

absl::Status ResidualAddCuda(const KernelContext& context, const ResidualAdd& args) {
  CudaArguments arguments(context, "the residual sum");
  RETURN_IF_ERROR(arguments.Size("count", args.count).status());
  if (args.count == 0) return absl::OkStatus();
  RETURN_IF_ERROR(arguments.Bf16OrNull("residual", args.residual)
                      .Array("branch", args.branch.data())
                      .Bf16("output", args.output)
                      .status());
  const bool is_bf16 = args.branch.type() == ValueType::kBf16;
  if (!is_bf16 && args.output.data() == args.branch.data()) {
    return absl::InvalidArgumentError(
        "the residual sum on CUDA: output is branch, which is fp32; the types have to be equal");
  }
  const ResidualAddLaunch launch{.count = args.count,
                                 .residual = args.residual.bf16(),
                                 .branch_bf16 = is_bf16 ? args.branch.bf16() : nullptr,
                                 .branch_fp32 = is_bf16 ? nullptr : args.branch.fp32(),
                                 .scale = args.scale,
                                 .output = args.output.bf16()};
  return RunOnCuda(StrCat("add ", args.count, " values to the residual on the CUDA device"),
                   [&] { return LaunchResidualAdd(launch, context.stream); });
}

}  // namespace horizon
