#include <cstdint>
#include <limits>

#include "common/cuda_status.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "kernels/cuda/cuda_arguments.h"
#include "kernels/experts/expert_glu.h"
#include "kernels/experts/expert_glu_launch.h"

namespace horizon {
namespace {

constexpr int64_t kMostRows = std::numeric_limits<int32_t>::max();

absl::Status CheckSizes(CudaArguments& arguments, const ExpertGluShape& shape) {
  return arguments.InRange("experts", shape.experts, 0, kMostRows)
      .InRange("most_rows", shape.most_rows, 0, kMostRows)
      .Size("width", shape.width)
      .MultipleOf("width", shape.width, 8)
      .status();
}

bool IsNothing(const ExpertGluShape& shape) {
  return shape.experts == 0 || shape.most_rows == 0 || shape.width == 0;
}

ExpertGluRows RowsOf(const ExpertGluShape& shape) {
  return {.activation = shape.activation,
          .interleaved = shape.layout == GateUpLayout::kInterleaved,
          .limit = shape.limit,
          .alpha = shape.alpha,
          .width = shape.width,
          .experts = static_cast<int>(shape.experts),
          .begins = shape.begins,
          .most_rows = shape.most_rows,
          .row_pairs = shape.row_pairs,
          .weights = shape.weights};
}

std::string Rows(const ExpertGluShape& shape) {
  return StrCat(" of ", shape.experts, " experts and ", shape.width, " gates on the CUDA device");
}

}  // namespace

absl::Status ExpertGluForwardCuda(const KernelContext& context, const ExpertGluForward& args) {
  const ExpertGluShape& shape = args.shape;
  CudaArguments arguments(context, "the GLU of experts");
  RETURN_IF_ERROR(CheckSizes(arguments, shape));
  if (IsNothing(shape)) return absl::OkStatus();
  RETURN_IF_ERROR(arguments.Array("begins", shape.begins)
                      .Array("row_pairs", shape.row_pairs)
                      .Array("weights", shape.weights)
                      .Bf16("gate_up", args.gate_up)
                      .Bf16("output", args.output)
                      .status());
  const ExpertGluForwardLaunch launch = {
      .rows = RowsOf(shape), .gate_up = args.gate_up.bf16(), .output = args.output.bf16()};
  return RunOnCuda(StrCat("take the GLU", Rows(shape)),
                   [&] { return LaunchExpertGluForward(launch, context.stream); });
}

absl::Status ExpertGluBackwardCuda(const KernelContext& context, const ExpertGluBackward& args) {
  const ExpertGluShape& shape = args.shape;
  CudaArguments arguments(context, "the gradient of the GLU of experts");
  RETURN_IF_ERROR(CheckSizes(arguments, shape));
  if (IsNothing(shape)) return absl::OkStatus();
  arguments.Array("begins", shape.begins)
      .Array("row_pairs", shape.row_pairs)
      .Array("weights", shape.weights)
      .Bf16("gate_up", args.gate_up)
      .Bf16("output_gradient", args.output_gradient)
      .Bf16OrNull("output", args.output)
      .Bf16("gate_up_gradient", args.gate_up_gradient)
      .Array("weight_gradient", args.weight_gradient)
      .Bf16OrNull("down_bias", args.down_bias);
  if (args.down_bias != nullptr) {
    arguments.Size("hidden", args.hidden)
        .Bf16("down_gradient", args.down_gradient)
        .Array("row_tokens", args.row_tokens);
  }
  RETURN_IF_ERROR(arguments.status());
  const ExpertGluBackwardLaunch launch = {
      .rows = RowsOf(shape),
      .gate_up = args.gate_up.bf16(),
      .output_gradient = args.output_gradient.bf16(),
      .output = args.output.bf16(),
      .gate_up_gradient = args.gate_up_gradient.bf16(),
      .weight_gradient = args.weight_gradient,
      .down_bias = args.down_bias.bf16(),
      .down_bias_expert_stride = args.down_bias_expert_stride,
      .hidden = args.hidden,
      .down_gradient = args.down_bias == nullptr ? nullptr : args.down_gradient.bf16(),
      .row_tokens = args.row_tokens};
  return RunOnCuda(StrCat("take the gradient of the GLU", Rows(shape)),
                   [&] { return LaunchExpertGluBackward(launch, context.stream); });
}

}  // namespace horizon
