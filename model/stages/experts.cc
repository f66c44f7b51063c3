#include "model/stages/experts.h"

#include <utility>

#include "model/stages/branch.h"

namespace horizon {
namespace {

// Program points of forward, in order. Those from kDispatch to kCombine are repeated for each piece
// of tokens and each shard, so what one of them leaves for the next is live at all of them.
enum Forward : int8_t { kRoute, kDispatch, kGateUpForward, kActivate, kProject, kCombine, kFinish };
constexpr LiveRange kForwardPieces = {kDispatch, kCombine};
// Program points of backward, from the output to the input. Those from kDispatchAgain to
// kCombineGradients are repeated.
enum Backward : int8_t {
  kNormAfterBackward,
  kDispatchAgain,
  kGateUpAgain,
  kDownBackward,
  kActivateBackward,
  kDownWeightBackward,
  kGateUpBackward,
  kCombineGradients,
  kRouterBackward,
  kNormBackward,
};
constexpr LiveRange kBackwardPieces = {kDispatchAgain, kCombineGradients};

// A tensor that holds a part of every expert, stored input-major.
TensorSpec OfAllExperts(TensorRole role, std::vector<int64_t> shape, bool decays) {
  TensorSpec tensor;
  tensor.role = role;
  tensor.shape = std::move(shape);
  tensor.split_axis = 0;
  tensor.decays = decays;
  return tensor;
}

void AddFusedExperts(const ModelSpec& spec, std::vector<TensorSpec>& tensors) {
  using Role = TensorRole;
  const int64_t experts = spec.experts.experts;
  const int64_t width = spec.experts.intermediate;
  tensors.push_back(OfAllExperts(Role::kGateUp, {experts, spec.hidden, 2 * width}, true));
  tensors.push_back(OfAllExperts(Role::kExpertsDown, {experts, width, spec.hidden}, true));
  if (!spec.expert_bias) return;
  tensors.push_back(OfAllExperts(Role::kGateUpBias, {experts, 2 * width}, false));
  tensors.push_back(OfAllExperts(Role::kExpertsDownBias, {experts, spec.hidden}, false));
}

void AddSeparateExperts(const ModelSpec& spec, int64_t experts, std::vector<TensorSpec>& tensors) {
  using Role = TensorRole;
  const int64_t width = spec.experts.intermediate;
  for (int64_t expert = 0; expert < experts; ++expert) {
    for (TensorSpec tensor : {Matrix(Role::kGate, expert, width, spec.hidden),
                              Matrix(Role::kUp, expert, width, spec.hidden),
                              Matrix(Role::kDown, expert, spec.hidden, width)}) {
      tensor.expert = expert;
      tensors.push_back(std::move(tensor));
    }
  }
}

// The tensors of the stage. Of experts with tensors of their own, only those of the first
// `experts`.
std::vector<TensorSpec> TensorsWith(const ModelSpec& spec, int64_t experts) {
  std::vector<TensorSpec> tensors;
  AddNormBefore(spec, tensors);
  tensors.push_back(Matrix(TensorRole::kRouter, 0, spec.experts.experts, spec.hidden));
  if (spec.expert_bias) {
    tensors.push_back(Vector(TensorRole::kRouterBias, 0, spec.experts.experts));
  }
  if (spec.experts.fused_tensors) {
    AddFusedExperts(spec, tensors);
  } else {
    AddSeparateExperts(spec, experts, tensors);
  }
  AddNormAfter(spec, spec.experts.experts - 1, tensors);
  return tensors;
}

// Parameters of the stage with so many of its experts; 0: all of them.
int64_t ParametersOf(const ModelSpec& spec, int64_t experts) {
  int64_t of_each = 0;
  int64_t others = 0;
  for (const TensorSpec& tensor : TensorsWith(spec, 1)) {
    int64_t count = 1;
    for (const int64_t length : tensor.shape) count *= length;
    if (tensor.split_axis >= 0) {
      of_each += count / spec.experts.experts;
    } else {
      (tensor.expert >= 0 ? of_each : others) += count;
    }
  }
  return others + of_each * (experts == 0 ? spec.experts.experts : experts);
}

}  // namespace

std::vector<TensorSpec> ExpertsTensors(const ModelSpec& spec) {
  return TensorsWith(spec, spec.experts.experts);
}

ArrayDescriptions ExpertsArrays(const ModelSpec& spec, const StageOptions& options) {
  using Role = ArrayRole;
  const int64_t experts = spec.experts.experts;
  const int64_t chosen = spec.experts.experts_per_token;
  const int64_t width = chosen * spec.experts.intermediate;
  const bool kept = options.keep_feed_forward;
  ArrayDescriptions arrays;
  AddBranchArrays(spec,
                  {.normed_forward = {kRoute, kCombine},
                   .normed_backward = {kNormAfterBackward, kNormBackward},
                   .normed_gradient = {kDispatchAgain, kNormBackward},
                   .project_point = kFinish,
                   .projected_gradient = {kNormAfterBackward, kCombineGradients}},
                  ArrayRows::kTokens, arrays);
  // What the router makes.
  const auto add_scalars = [&](ArrayDescription array) {
    array.type = ArrayType::kScalar;
    arrays.push_back(array);
  };
  // At first the logits, which a multiply writes.
  arrays.push_back({.role = Role::kRouterProbabilities,
                    .width = experts,
                    .type = ArrayType::kSum,
                    .kept = true,
                    .forward = {kRoute, kRoute}});
  for (const Role role : {Role::kChosenExperts, Role::kRouterWeights}) {
    add_scalars({.role = role, .width = chosen, .kept = true, .forward = {kRoute, kCombine}});
  }
  // Of a piece of tokens.
  const auto add_of_piece = [&](ArrayDescription array) {
    array.rows = ArrayRows::kPiece;
    arrays.push_back(array);
  };
  for (const Role role : {Role::kRowPairs, Role::kRowTokens, Role::kPairRows}) {
    add_of_piece({.role = role,
                  .width = chosen,
                  .type = ArrayType::kScalar,
                  .forward = kForwardPieces,
                  .backward = kBackwardPieces});
  }
  add_scalars({.role = Role::kExpertBegins,
               .width = experts + 1,
               .rows = ArrayRows::kAlways,
               .forward = kForwardPieces,
               .backward = kBackwardPieces});
  add_of_piece({.role = Role::kGateUp,
                .width = 2 * width,
                .kept = kept,
                .forward = {kGateUpForward, kActivate},
                .backward = kept ? LiveRange() : LiveRange{kGateUpAgain, kActivateBackward}});
  add_of_piece({.role = Role::kActivated,
                .width = width,
                .forward = {kActivate, kProject},
                .backward = {kActivateBackward, kDownWeightBackward}});
  add_of_piece(
      {.role = Role::kRowOutput, .width = chosen * spec.hidden, .forward = {kProject, kCombine}});
  arrays.push_back({.role = Role::kExpertSum,
                    .width = spec.hidden,
                    .type = ArrayType::kSum,
                    .forward = {kDispatch, kFinish}});
  add_of_piece({.role = Role::kActivatedGradient,
                .width = width,
                .backward = {kDownBackward, kActivateBackward}});
  add_of_piece({.role = Role::kGateUpGradient,
                .width = 2 * width,
                .backward = {kActivateBackward, kGateUpBackward}});
  add_of_piece({.role = Role::kRowInputGradient,
                .width = chosen * spec.hidden,
                .backward = {kGateUpBackward, kCombineGradients}});
  add_scalars({.role = Role::kRouterWeightGradient,
               .width = chosen,
               .backward = {kDispatchAgain, kRouterBackward}});
  add_scalars({.role = Role::kRouterLossGradient,
               .width = experts,
               .rows = ArrayRows::kAlways,
               .backward = {kRouterBackward, kRouterBackward}});
  arrays.push_back({.role = Role::kRouterGradient,
                    .width = experts,
                    .backward = {kRouterBackward, kRouterBackward}});
  arrays.push_back({.role = Role::kWeightGradientSum,
                    .width = ParametersOf(spec, options.experts_in_chunk),
                    .type = ArrayType::kSum,
                    .rows = ArrayRows::kOne,
                    .backward = {kNormAfterBackward, kNormBackward}});
  return arrays;
}

WorkDescription ExpertsWork(const ModelSpec& spec, const StageOptions& options) {
  const int64_t width = spec.experts.intermediate;
  const int64_t experts = spec.experts.experts;
  const Need inputs = options.keep_feed_forward ? Need::kBackward : Need::kAgain;
  const Need projection = NeedOfProjection(spec);
  WorkDescription work;
  const auto of_experts = [&](TensorRole weight, Need need, int64_t out, int64_t in) {
    work.gemms.push_back(
        {.weight = weight, .need = need, .spread = Spread::kExperts, .out = out, .in = in});
  };
  work.gemms.push_back(
      {.weight = TensorRole::kRouter, .unit = 0, .out = experts, .in = spec.hidden});
  if (spec.experts.fused_tensors) {
    of_experts(TensorRole::kGateUp, inputs, 2 * width, spec.hidden);
    of_experts(TensorRole::kExpertsDown, projection, spec.hidden, width);
  } else {
    of_experts(TensorRole::kGate, inputs, width, spec.hidden);
    of_experts(TensorRole::kUp, inputs, width, spec.hidden);
    of_experts(TensorRole::kDown, projection, spec.hidden, width);
  }
  AddElements(work, 0, experts, kRouterCost);
  AddBranchWork(spec, experts - 1, projection, work);
  const auto pairs = [&](int64_t values, const ElementCost& cost) {
    work.elements.push_back({.need = projection,
                             .spread = Spread::kExperts,
                             .width = values,
                             .forward = cost.forward,
                             .backward = cost.backward});
  };
  pairs(width, kGluCost);
  pairs(spec.hidden, kCombineCost);
  return work;
}

}  // namespace horizon
