#include <cstdint>
#include <limits>

#include "common/cuda_status.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "kernels/cuda/cuda_arguments.h"
#include "kernels/experts/router.h"
#include "kernels/experts/router_launch.h"

namespace horizon {
namespace {

constexpr int64_t kMostTokens = std::numeric_limits<int32_t>::max();

// The sizes that all kernels of the router have.
CudaArguments& CheckSizes(CudaArguments& arguments, int64_t tokens, int64_t experts,
                          int64_t per_token) {
  return arguments.InRange("tokens", tokens, 0, kMostTokens)
      .InRange("experts", experts, 1, kMostRouterExperts)
      .InRange("per_token", per_token, 1, experts);
}

std::string Tokens(int64_t tokens, int64_t experts) {
  return StrCat(" of ", tokens, " tokens and ", experts, " experts on the CUDA device");
}

}  // namespace

absl::Status RouterForwardCuda(const KernelContext& context, const RouterForward& args) {
  CudaArguments arguments(context, "the router");
  RETURN_IF_ERROR(CheckSizes(arguments, args.tokens, args.experts, args.per_token).status());
  if (args.tokens == 0) return absl::OkStatus();
  RETURN_IF_ERROR(arguments.Array("logits", args.logits)
                      .Bf16OrNull("bias", args.bias)
                      .Array("probabilities", args.probabilities)
                      .Array("chosen", args.chosen)
                      .Array("weights", args.weights)
                      .status());
  const RouterForwardLaunch launch = {.softmax_of_all = args.kind == RouterWeights::kSoftmaxOfAll,
                                      .tokens = args.tokens,
                                      .experts = static_cast<int>(args.experts),
                                      .per_token = static_cast<int>(args.per_token),
                                      .logits = args.logits,
                                      .bias = args.bias == nullptr ? nullptr : args.bias.bf16(),
                                      .probabilities = args.probabilities,
                                      .chosen = args.chosen,
                                      .weights = args.weights};
  return RunOnCuda(StrCat("choose the experts", Tokens(args.tokens, args.experts)),
                   [&] { return LaunchRouterForward(launch, context.stream); });
}

absl::Status RouterBackwardCuda(const KernelContext& context, const RouterBackward& args) {
  CudaArguments arguments(context, "the gradient of the router");
  RETURN_IF_ERROR(CheckSizes(arguments, args.tokens, args.experts, args.per_token).status());
  if (args.tokens == 0) return absl::OkStatus();
  arguments.Array("probabilities", args.probabilities)
      .Array("chosen", args.chosen)
      .Array("weights", args.weights)
      .Array("weight_gradient", args.weight_gradient)
      .Bf16("logit_gradient", args.logit_gradient);
  if (args.probability_gradient != nullptr) arguments.Array("records", args.records);
  RETURN_IF_ERROR(arguments.status());
  const RouterBackwardLaunch launch = {.softmax_of_all = args.kind == RouterWeights::kSoftmaxOfAll,
                                       .tokens = args.tokens,
                                       .experts = args.experts,
                                       .per_token = args.per_token,
                                       .probabilities = args.probabilities,
                                       .chosen = args.chosen,
                                       .weights = args.weights,
                                       .weight_gradient = args.weight_gradient,
                                       .probability_gradient = args.probability_gradient,
                                       .records = args.records,
                                       .logit_gradient = args.logit_gradient.bf16()};
  return RunOnCuda(StrCat("take the gradient of the router", Tokens(args.tokens, args.experts)),
                   [&] { return LaunchRouterBackward(launch, context.stream); });
}

absl::Status RouterStatisticsCuda(const KernelContext& context, const RouterStatistics& args) {
  CudaArguments arguments(context, "the statistics of the router");
  CheckSizes(arguments, args.tokens, args.experts, args.per_token)
      .Array("counts", args.counts)
      .Array("probability_sums", args.probability_sums);
  if (args.tokens > 0) {
    arguments.Array("records", args.records)
        .Array("probabilities", args.probabilities)
        .Array("chosen", args.chosen);
  }
  RETURN_IF_ERROR(arguments.status());
  const RouterStatisticsLaunch launch = {.tokens = args.tokens,
                                         .experts = static_cast<int>(args.experts),
                                         .per_token = args.per_token,
                                         .records = args.records,
                                         .probabilities = args.probabilities,
                                         .chosen = args.chosen,
                                         .counts = args.counts,
                                         .probability_sums = args.probability_sums};
  return RunOnCuda(StrCat("count the routes", Tokens(args.tokens, args.experts)),
                   [&] { return LaunchRouterStatistics(launch, context.stream); });
}

absl::Status RouterLossGradientCuda(const KernelContext& context, const RouterLossGradient& args) {
  CudaArguments arguments(context, "the gradient of the router's loss");
  RETURN_IF_ERROR(arguments.Size("layers", args.layers).Size("experts", args.experts).status());
  if (args.experts == 0) return absl::OkStatus();
  if (args.layers > 0) arguments.Array("counts", args.counts);
  RETURN_IF_ERROR(arguments.Array("gradient", args.gradient).status());
  const RouterLossGradientLaunch launch = {.layers = args.layers,
                                           .experts = args.experts,
                                           .counts = args.counts,
                                           .layer_stride = args.layer_stride,
                                           .scale = args.scale,
                                           .gradient = args.gradient};
  return RunOnCuda(StrCat("add the routes of ", args.layers, " layers to ", args.experts,
                          " experts on the CUDA device"),
                   [&] { return LaunchRouterLossGradient(launch, context.stream); });
}

}  // namespace horizon
