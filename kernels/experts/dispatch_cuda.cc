#include <cstdint>
#include <limits>

#include "common/cuda_status.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "kernels/arguments/workspace_allocator.h"
#include "kernels/cuda/cuda_arguments.h"
#include "kernels/experts/dispatch.h"
#include "kernels/experts/dispatch_device_memory.h"
#include "kernels/experts/dispatch_launch.h"

namespace horizon {
namespace {

// Rows and pairs are numbered with 32 bits, and so are the tokens of a whole last tile.
constexpr int64_t kMostPairs = std::numeric_limits<int32_t>::max() / 2;

}  // namespace

absl::Status DispatchCuda(const KernelContext& context, const Dispatch& args) {
  CudaArguments arguments(context, "the dispatch");
  RETURN_IF_ERROR(arguments.InRange("tokens", args.tokens, 0, kMostPairs)
                      .InRange("experts", args.experts, 1, kMostDispatchExperts)
                      .InRange("per_token", args.per_token, 1, args.experts)
                      .Array("begins", args.begins)
                      .status());
  arguments.InRange("tokens x per_token", args.tokens * args.per_token, 0, kMostPairs);
  if (args.tokens > 0) {
    arguments.Array("chosen", args.chosen)
        .Array("row_pairs", args.row_pairs)
        .Array("row_tokens", args.row_tokens)
        .Array("pair_rows", args.pair_rows);
  }
  RETURN_IF_ERROR(arguments.Workspace(DispatchWorkspaceBytes(args.tokens, args.experts)).status());
  DispatchLaunch launch = {.tokens = static_cast<int>(args.tokens),
                           .experts = static_cast<int>(args.experts),
                           .per_token = static_cast<int>(args.per_token),
                           .chosen = args.chosen,
                           .begins = args.begins,
                           .row_pairs = args.row_pairs,
                           .row_tokens = args.row_tokens,
                           .pair_rows = args.pair_rows};
  WorkspaceAllocator workspace(context.device_workspace.data());
  AllocateDispatchMemory(args.tokens, args.experts, workspace, launch);
  return RunOnCuda(
      StrCat("sort ", args.tokens, " tokens by ", args.experts, " experts on the CUDA device"),
      [&] { return LaunchDispatch(launch, context.stream); });
}

absl::Status CombinePairsCuda(const KernelContext& context, const CombinePairs& args) {
  CudaArguments arguments(context, "the sum over experts");
  RETURN_IF_ERROR(arguments.Size("tokens", args.tokens)
                      .Size("per_token", args.per_token)
                      .Size("width", args.width)
                      .MultipleOf("width", args.width, 8)
                      .status());
  if (args.tokens == 0 || args.width == 0) return absl::OkStatus();
  if (args.per_token > 0) {
    arguments.Array("chosen", args.chosen)
        .Array("pair_rows", args.pair_rows)
        .Bf16("rows", args.rows);
  }
  RETURN_IF_ERROR(arguments.Array("sum", args.sum).status());
  const CombinePairsLaunch launch = {.descending = args.order == CombineOrder::kDescending,
                                     .tokens = args.tokens,
                                     .per_token = args.per_token,
                                     .width = args.width,
                                     .first_expert = args.first_expert,
                                     .end_expert = args.end_expert,
                                     .chosen = args.chosen,
                                     .pair_rows = args.pair_rows,
                                     .rows = args.per_token > 0 ? args.rows.bf16() : nullptr,
                                     .add = args.add,
                                     .sum = args.sum};
  return RunOnCuda(
      StrCat("add the experts' results of ", args.tokens, " tokens on the CUDA device"),
      [&] { return LaunchCombinePairs(launch, context.stream); });
}

}  // namespace horizon
