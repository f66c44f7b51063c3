#include "common/cuda_status.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "kernels/cuda/cuda_arguments.h"
#include "kernels/optimizer/adam.h"
#include "kernels/optimizer/adam_launch.h"

namespace horizon {

absl::Status AdamUpdateCuda(const KernelContext& context, const AdamUpdate& args) {
  CudaArguments arguments(context, "Adam");
  RETURN_IF_ERROR(arguments.Size("count", args.count)
                      .Size("first", args.first)
                      .Array("first_refused", args.first_refused)
                      .status());
  const bool in_blocks = args.moments == MomentType::k8Bit;
  if (in_blocks && args.first % kAdamBlock != 0) {
    return absl::InvalidArgumentError(StrCat("Adam on CUDA: 8-bit moments from parameter ",
                                             args.first, " on, which begins no block of ",
                                             kAdamBlock));
  }
  if (args.count > 0) {
    if ((args.gradient_fp32 == nullptr) == (args.gradient_bf16 == nullptr)) {
      return absl::InvalidArgumentError(
          "Adam on CUDA: either fp32 or bf16 gradients have to be given");
    }
    RETURN_IF_ERROR(arguments.Array("hi", args.hi).Array("m", args.m).Array("v", args.v).status());
    if (in_blocks) {
      RETURN_IF_ERROR(
          arguments.Array("m_scales", args.m_scales).Array("v_scales", args.v_scales).status());
    }
  }
  return RunOnCuda(StrCat("update ", args.count, " parameters on the CUDA device"),
                   [&] { return LaunchAdamUpdate(args, context.stream); });
}

}  // namespace horizon
