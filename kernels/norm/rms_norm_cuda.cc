#include "common/cuda_status.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "kernels/cuda/cuda_arguments.h"
#include "kernels/cuda/cuda_column_scratch.h"
#include "kernels/norm/rms_norm.h"
#include "kernels/norm/rms_norm_launch.h"

namespace horizon {
namespace {

std::string Rows(int64_t rows, int64_t width) {
  return StrCat(" of ", rows, " rows of ", width, " on the CUDA device");
}

}  // namespace

absl::Status RmsNormForwardCuda(const KernelContext& context, const RmsNormForward& args) {
  CudaArguments arguments(context, "the RMS norm");
  RETURN_IF_ERROR(arguments.Size("rows", args.rows).Size("width", args.width).status());
  if (args.rows == 0 || args.width == 0) return absl::OkStatus();
  RETURN_IF_ERROR(
      arguments.Bf16("x", args.x).Bf16("weight", args.weight).Bf16("y", args.y).status());
  const RmsNormForwardLaunch norm{.rows = args.rows,
                                  .width = args.width,
                                  .epsilon = args.epsilon,
                                  .added_to_weights = AddedToWeights(args.weight_offset),
                                  .x = args.x.bf16(),
                                  .weight = args.weight.bf16(),
                                  .y = args.y.bf16(),
                                  .inverse_rms = args.inverse_rms};
  return RunOnCuda(StrCat("take the RMS norm", Rows(args.rows, args.width)),
                   [&] { return LaunchRmsNormForward(norm, context.stream); });
}

absl::Status RmsNormRecomputeCuda(const KernelContext& context, const RmsNormRecompute& args) {
  CudaArguments arguments(context, "the RMS norm again");
  RETURN_IF_ERROR(arguments.Size("rows", args.rows).Size("width", args.width).status());
  if (args.rows == 0 || args.width == 0) return absl::OkStatus();
  RETURN_IF_ERROR(arguments.Bf16("x", args.x)
                      .Array("inverse_rms", args.inverse_rms)
                      .Bf16("weight", args.weight)
                      .Bf16("y", args.y)
                      .status());
  const RmsNormRecomputeLaunch norm{.rows = args.rows,
                                    .width = args.width,
                                    .added_to_weights = AddedToWeights(args.weight_offset),
                                    .x = args.x.bf16(),
                                    .inverse_rms = args.inverse_rms,
                                    .weight = args.weight.bf16(),
                                    .y = args.y.bf16()};
  return RunOnCuda(StrCat("take the RMS norm again", Rows(args.rows, args.width)),
                   [&] { return LaunchRmsNormRecompute(norm, context.stream); });
}

absl::Status RmsNormBackwardCuda(const KernelContext& context, const RmsNormBackward& args) {
  CudaArguments arguments(context, "the gradient of the RMS norm");
  RETURN_IF_ERROR(arguments.Size("rows", args.rows).Size("width", args.width).status());
  if (args.width == 0) return absl::OkStatus();
  const bool is_weight_frozen = !args.weight_gradient.is_needed();
  if (is_weight_frozen && args.x_gradient == nullptr) {
    return absl::InvalidArgumentError(
        "the gradient of the RMS norm on CUDA: neither x_gradient nor weight_gradient is wanted");
  }
  if (args.rows > 0) {
    arguments.Bf16("x", args.x)
        .Array("inverse_rms", args.inverse_rms)
        .Bf16OrNull("weight", args.weight)
        .Bf16("y_gradient", args.y_gradient)
        .Bf16OrNull("residual_gradient", args.residual_gradient)
        .Bf16OrNull("x_gradient", args.x_gradient);
    if (args.x_gradient != nullptr) arguments.Array("weight", args.weight.data());
  }
  const int64_t workspace_bytes = is_weight_frozen ? 0 : LeastColumnScratchBytes(args.width);
  RETURN_IF_ERROR(arguments.GradientOrFrozen("weight_gradient", args.weight_gradient)
                      .Workspace(static_cast<uint64_t>(workspace_bytes))
                      .status());
  const RmsNormBackwardLaunch norm{
      .rows = args.rows,
      .width = args.width,
      .added_to_weights = AddedToWeights(args.weight_offset),
      .x = args.x.bf16(),
      .inverse_rms = args.inverse_rms,
      .weight = args.weight.bf16(),
      .y_gradient = args.y_gradient.bf16(),
      .residual_gradient = args.residual_gradient.bf16(),
      .x_gradient = args.x_gradient.bf16(),
      .weight_gradient = args.weight_gradient,
      .scratch = context.device_workspace.data(),
      .scratch_bytes = static_cast<int64_t>(context.device_workspace.size())};
  return RunOnCuda(StrCat("take the gradient of the RMS norm", Rows(args.rows, args.width)),
                   [&] { return LaunchRmsNormBackward(norm, context.stream); });
}

}  // namespace horizon
