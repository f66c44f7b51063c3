#include "model/stages/experts.h"

#include <utility>

#include "model/stages/branch.h"

namespace horizon {
namespace {

// Program points of forward, in order.
enum Forward : int8_t { kRoute, kGateUpForward, kActivate, kProject };
// Program points of backward, from the output to the input.
enum Backward : int8_t { kNormAfterBackward, kExpertsBackward, kRouterBackward, kNormBackward };

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

void AddSeparateExperts(const ModelSpec& spec, std::vector<TensorSpec>& tensors) {
  using Role = TensorRole;
  const int64_t width = spec.experts.intermediate;
  for (int64_t expert = 0; expert < spec.experts.experts; ++expert) {
    for (TensorSpec tensor : {Matrix(Role::kGate, expert, width, spec.hidden),
                              Matrix(Role::kUp, expert, width, spec.hidden),
                              Matrix(Role::kDown, expert, spec.hidden, width)}) {
      tensor.expert = expert;
      tensors.push_back(std::move(tensor));
    }
  }
}

}  // namespace

std::vector<TensorSpec> ExpertsTensors(const ModelSpec& spec) {
  std::vector<TensorSpec> tensors;
  AddNormBefore(spec, tensors);
  tensors.push_back(Matrix(TensorRole::kRouter, 0, spec.experts.experts, spec.hidden));
  if (spec.expert_bias) {
    tensors.push_back(Vector(TensorRole::kRouterBias, 0, spec.experts.experts));
  }
  if (spec.experts.fused_tensors) {
    AddFusedExperts(spec, tensors);
  } else {
    AddSeparateExperts(spec, tensors);
  }
  AddNormAfter(spec, spec.experts.experts - 1, tensors);
  return tensors;
}

ArrayDescriptions ExpertsArrays(const ModelSpec& spec) {
  using Role = ArrayRole;
  const int64_t experts = spec.experts.experts;
  const int64_t chosen = spec.experts.experts_per_token;
  const int64_t width = chosen * spec.experts.intermediate;
  ArrayDescriptions arrays;
  AddBranchArrays(spec,
                  {.normed_forward = {kRoute, kGateUpForward},
                   .normed_backward = {kExpertsBackward, kNormBackward},
                   .normed_gradient = {kExpertsBackward, kNormBackward},
                   .project_point = kProject,
                   .projected_gradient = {kNormAfterBackward, kExpertsBackward}},
                  ArrayRows::kTokens, arrays);
  arrays.push_back({.role = Role::kRouterProbabilities,
                    .width = experts,
                    .type = ArrayType::kScalar,
                    .kept = true,
                    .forward = {kRoute, kRoute}});
  // Number and weight of each.
  arrays.push_back({.role = Role::kChosenExperts,
                    .width = chosen * 2,
                    .type = ArrayType::kScalar,
                    .kept = true,
                    .forward = {kRoute, kProject}});
  arrays.push_back(
      {.role = Role::kGate, .width = width, .kept = true, .forward = {kGateUpForward, kActivate}});
  arrays.push_back(
      {.role = Role::kUp, .width = width, .kept = true, .forward = {kGateUpForward, kActivate}});
  arrays.push_back({.role = Role::kGathered,
                    .width = chosen * spec.hidden,
                    .forward = {kGateUpForward, kGateUpForward},
                    .backward = {kExpertsBackward, kExpertsBackward}});
  arrays.push_back({.role = Role::kActivated,
                    .width = width,
                    .forward = {kActivate, kProject},
                    .backward = {kExpertsBackward, kExpertsBackward}});
  for (const Role role : {Role::kGateGradient, Role::kUpGradient}) {
    arrays.push_back(
        {.role = role, .width = width, .backward = {kExpertsBackward, kExpertsBackward}});
  }
  arrays.push_back({.role = Role::kGatheredGradient,
                    .width = chosen * spec.hidden,
                    .backward = {kExpertsBackward, kExpertsBackward}});
  arrays.push_back({.role = Role::kRouterGradient,
                    .width = experts,
                    .type = ArrayType::kScalar,
                    .backward = {kExpertsBackward, kRouterBackward}});
  return arrays;
}

WorkDescription ExpertsWork(const ModelSpec& spec) {
  const int64_t width = spec.experts.intermediate;
  const int64_t experts = spec.experts.experts;
  WorkDescription work;
  const auto of_experts = [&](TensorRole weight, int64_t out, int64_t in) {
    work.gemms.push_back({.weight = weight, .spread = Spread::kExperts, .out = out, .in = in});
  };
  work.gemms.push_back(
      {.weight = TensorRole::kRouter, .unit = 0, .out = experts, .in = spec.hidden});
  // Gate and up of an expert are one multiply where they are one tensor.
  if (spec.experts.fused_tensors) {
    of_experts(TensorRole::kGateUp, 2 * width, spec.hidden);
    of_experts(TensorRole::kExpertsDown, spec.hidden, width);
  } else {
    of_experts(TensorRole::kGate, width, spec.hidden);
    of_experts(TensorRole::kUp, width, spec.hidden);
    of_experts(TensorRole::kDown, spec.hidden, width);
  }
  AddElements(work, 0, experts, kRouterCost);
  AddBranchWork(spec, experts - 1, NeedOfProjection(spec), work);
  const auto pairs = [&](int64_t values, const ElementCost& cost) {
    work.elements.push_back({.spread = Spread::kExperts,
                             .width = values,
                             .forward = cost.forward,
                             .backward = cost.backward});
  };
  pairs(width, kGluCost);
  pairs(spec.hidden, kGatherCost);
  pairs(spec.hidden, kScatterCost);
  return work;
}

}  // namespace horizon
