#include "common/cuda_status.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "kernels/cuda/cuda_arguments.h"
#include "kernels/embedding/embedding.h"
#include "kernels/embedding/embedding_launch.h"

namespace horizon {

absl::Status EmbedForwardCuda(const KernelContext& context, const EmbedForward& args) {
  CudaArguments arguments(context, "the embedding");
  RETURN_IF_ERROR(arguments.Size("tokens", args.tokens)
                      .Size("hidden", args.hidden)
                      .Size("rows", args.rows)
                      .status());
  if (args.tokens == 0 || args.hidden == 0) return absl::OkStatus();
  if (args.rows > 0) RETURN_IF_ERROR(arguments.Bf16("table", args.table).status());
  RETURN_IF_ERROR(arguments.Array("records", args.records).Bf16("output", args.output).status());
  const EmbedForwardLaunch embed{.tokens = args.tokens,
                                 .hidden = args.hidden,
                                 .first_row = args.first_row,
                                 .rows = args.rows,
                                 .scale = args.scale,
                                 .records = args.records,
                                 .table = args.table.bf16(),
                                 .output = args.output.bf16()};
  return RunOnCuda(StrCat("embed ", args.tokens, " tokens on the CUDA device"),
                   [&] { return LaunchEmbedForward(embed, context.stream); });
}

absl::Status EmbedBackwardCuda(const KernelContext& context, const EmbedBackward& args) {
  CudaArguments arguments(context, "the gradient of the embedding");
  RETURN_IF_ERROR(arguments.Size("tokens", args.tokens)
                      .Size("hidden", args.hidden)
                      .Size("rows", args.rows)
                      .status());
  if (args.rows == 0 || args.hidden == 0) return absl::OkStatus();
  if (args.tokens > 0) {
    RETURN_IF_ERROR(arguments.Array("records", args.records)
                        .Bf16("output_gradient", args.output_gradient)
                        .status());
  }
  RETURN_IF_ERROR(arguments.Gradient("gradient", args.gradient).status());
  const EmbedBackwardLaunch embed{.tokens = args.tokens,
                                  .hidden = args.hidden,
                                  .first_row = args.first_row,
                                  .rows = args.rows,
                                  .scale = args.scale,
                                  .records = args.records,
                                  .output_gradient = args.output_gradient.bf16(),
                                  .gradient = args.gradient};
  return RunOnCuda(StrCat("sum the gradients of ", args.rows, " rows of the embedding over ",
                          args.tokens, " tokens on the CUDA device"),
                   [&] { return LaunchEmbedBackward(embed, context.stream); });
}

}  // namespace horizon
