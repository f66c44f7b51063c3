#include "common/cuda_status.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "kernels/cuda/cuda_arguments.h"
#include "kernels/rotary/rotary.h"
#include "kernels/rotary/rotary_launch.h"

namespace horizon {

absl::Status ApplyRotaryCuda(const KernelContext& context, const ApplyRotary& args) {
  CudaArguments arguments(context, "rotary embedding");
  RETURN_IF_ERROR(arguments.Size("tokens", args.tokens)
                      .Size("heads", args.heads)
                      .Size("head_dim", args.head_dim)
                      .status());
  if (args.tokens == 0 || args.heads == 0 || args.head_dim == 0) return absl::OkStatus();
  if (args.rotary_dim < 2 || args.rotary_dim % 2 != 0 || args.rotary_dim > args.head_dim) {
    return absl::InvalidArgumentError(
        StrCat("rotary embedding on CUDA: rotary_dim is ", args.rotary_dim,
               "; it has to be even and from 2 to head_dim, which is ", args.head_dim));
  }
  RETURN_IF_ERROR(arguments.Array("records", args.records)
                      .Array("table", args.table)
                      .Bf16("x", args.x)
                      .status());
  const ApplyRotaryLaunch heads{.tokens = args.tokens,
                                .heads = args.heads,
                                .head_dim = args.head_dim,
                                .half = args.rotary_dim / 2,
                                .records = args.records,
                                .table = args.table,
                                .x = args.x.bf16(),
                                .sign = args.direction == RotaryDirection::kForward ? 1.0f : -1.0f};
  return RunOnCuda(
      StrCat("turn ", args.heads, " heads of ", args.tokens, " tokens on the CUDA device"),
      [&] { return LaunchApplyRotary(heads, context.stream); });
}

}  // namespace horizon
