#include "model/stages/feed_forward.h"

#include "model/stages/branch.h"

namespace horizon {
namespace {

// Program points of forward, in order.
enum Forward : int8_t { kGateForward, kUpForward, kActivate, kProject };
// Program points of backward, from the output to the input.
enum Backward : int8_t {
  kNormAfterBackward,
  kDownBackward,
  kUpBackward,
  kGateBackward,
  kNormBackward,
};

}  // namespace

std::vector<TensorSpec> FeedForwardTensors(const ModelSpec& spec) {
  using Role = TensorRole;
  const int64_t width = spec.intermediate;
  std::vector<TensorSpec> tensors;
  AddNormBefore(spec, tensors);
  tensors.push_back(Matrix(Role::kGate, kGateUnit, width, spec.hidden));
  if (spec.mlp_bias) tensors.push_back(Vector(Role::kGateBias, kGateUnit, width));
  tensors.push_back(Matrix(Role::kUp, kUpUnit, width, spec.hidden));
  if (spec.mlp_bias) tensors.push_back(Vector(Role::kUpBias, kUpUnit, width));
  tensors.push_back(Matrix(Role::kDown, kDownUnit, spec.hidden, width));
  if (spec.mlp_bias) tensors.push_back(Vector(Role::kDownBias, kDownUnit, spec.hidden));
  AddNormAfter(spec, kDownUnit, tensors);
  return tensors;
}

ArrayDescriptions FeedForwardArrays(const ModelSpec& spec) {
  using Role = ArrayRole;
  const int64_t width = spec.intermediate;
  ArrayDescriptions arrays;
  AddBranchArrays(spec,
                  {.normed_forward = {kGateForward, kUpForward},
                   .normed_backward = {kUpBackward, kNormBackward},
                   .project_point = kProject,
                   .projected_gradient = {kNormAfterBackward, kDownBackward}},
                  arrays);
  arrays.push_back(
      {.role = Role::kGate, .width = width, .kept = true, .forward = {kGateForward, kActivate}});
  arrays.push_back(
      {.role = Role::kUp, .width = width, .kept = true, .forward = {kUpForward, kActivate}});
  arrays.push_back({.role = Role::kActivated,
                    .width = width,
                    .forward = {kActivate, kProject},
                    .backward = {kDownBackward, kDownBackward}});
  arrays.push_back(
      {.role = Role::kGateGradient, .width = width, .backward = {kDownBackward, kGateBackward}});
  arrays.push_back(
      {.role = Role::kUpGradient, .width = width, .backward = {kDownBackward, kUpBackward}});
  return arrays;
}

WorkDescription FeedForwardWork(const ModelSpec& spec) {
  const int64_t width = spec.intermediate;
  WorkDescription work;
  work.gemms = {{.weight = TensorRole::kGate, .unit = kGateUnit, .out = width, .in = spec.hidden},
                {.weight = TensorRole::kUp, .unit = kUpUnit, .out = width, .in = spec.hidden},
                {.weight = TensorRole::kDown, .unit = kDownUnit, .out = spec.hidden, .in = width}};
  AddBranchWork(spec, kDownUnit, work);
  AddElements(work, kDownUnit, width, kGluCost);
  return work;
}

}  // namespace horizon
