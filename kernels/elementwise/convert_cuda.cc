#include "common/cuda_status.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "kernels/cuda/cuda_arguments.h"
#include "kernels/elementwise/convert.h"
#include "kernels/elementwise/convert_launch.h"

namespace horizon {

absl::Status StoreGradientCuda(const KernelContext& context, const StoreGradient& args) {
  CudaArguments arguments(context, "storing a gradient");
  RETURN_IF_ERROR(arguments.Size("count", args.count).status());
  if (args.count == 0) return absl::OkStatus();
  RETURN_IF_ERROR(arguments.Array("sum", args.sum).Gradient("gradient", args.gradient).status());
  return RunOnCuda(StrCat("store ", args.count, " gradients on the CUDA device"), [&] {
    return LaunchStoreGradient(args.sum, args.count, args.gradient, context.stream);
  });
}

absl::Status AccumulateCuda(const KernelContext& context, const Accumulate& args) {
  CudaArguments arguments(context, "adding up a gradient");
  RETURN_IF_ERROR(arguments.Size("count", args.count).status());
  if (args.count == 0) return absl::OkStatus();
  if ((args.gradient_fp32 == nullptr) == (args.gradient_bf16 == nullptr) ||
      (args.kept_fp32 == nullptr) == (args.kept_bf16 == nullptr)) {
    return absl::InvalidArgumentError(
        "adding up a gradient on CUDA: it and what is kept are each either fp32 or bf16");
  }
  return RunOnCuda(StrCat("add up ", args.count, " gradients on the CUDA device"), [&] {
    return LaunchAccumulate({.count = args.count,
                             .gradient_fp32 = args.gradient_fp32,
                             .gradient_bf16 = args.gradient_bf16,
                             .add = args.add,
                             .kept_fp32 = args.kept_fp32,
                             .kept_bf16 = args.kept_bf16},
                            context.stream);
  });
}

absl::Status CopyBytesCuda(const KernelContext& context, const CopyBytes& args) {
  CudaArguments arguments(context, "a copy");
  RETURN_IF_ERROR(arguments.Size("bytes", args.bytes).status());
  if (args.bytes == 0) return absl::OkStatus();
  RETURN_IF_ERROR(arguments.Array("from", args.from).Array("to", args.to).status());
  return RunOnCuda(StrCat("copy ", args.bytes, " bytes on the CUDA device"),
                   [&] { return LaunchCopyBytes(args.from, args.to, args.bytes, context.stream); });
}

}  // namespace horizon
