#include "common/cuda_status.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "kernels/cuda/cuda_arguments.h"
#include "kernels/optimizer/squared_norm.h"
#include "kernels/optimizer/squared_norm_launch.h"

namespace horizon {

absl::Status SquaredNormCuda(const KernelContext& context, const SquaredNorm& args) {
  CudaArguments arguments(context, "sums of squares");
  RETURN_IF_ERROR(arguments.Size("count", args.count).status());
  if (args.block <= 0 || (args.count > 0 && (args.fp32 == nullptr) == (args.bf16 == nullptr))) {
    return absl::InvalidArgumentError(StrCat("sums of squares on CUDA: blocks of ", args.block,
                                             " elements, and either fp32 or bf16 has to be given"));
  }
  if (args.count == 0) return absl::OkStatus();
  RETURN_IF_ERROR(arguments.Array("partials", args.partials).status());
  const SquaredNormLaunch blocks{.count = args.count,
                                 .block = args.block,
                                 .fp32 = args.fp32,
                                 .bf16 = args.bf16,
                                 .partials = args.partials};
  return RunOnCuda(StrCat("sum the squares of ", args.count, " numbers on the CUDA device"),
                   [&] { return LaunchSquaredNorm(blocks, context.stream); });
}

}  // namespace horizon
