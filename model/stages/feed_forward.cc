#include "model/stages/feed_forward.h"

#include "model/stages/branch.h"

namespace horizon {
namespace {

// Program points of forward, in order.
enum Forward : int8_t { kGateForward, kUpForward, kActivate, kProject };
// Program points of backward, from the output to the input. The first ones compute again what
// forward did not keep.
enum Backward : int8_t {
  kGateAgain,
  kUpAgain,
  kProjectAgain,
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

ArrayDescriptions FeedForwardArrays(const ModelSpec& spec, const StageOptions& options) {
  using Role = ArrayRole;
  const int64_t width = spec.intermediate;
  const bool kept = options.keep_feed_forward;
  ArrayDescriptions arrays;
  AddBranchArrays(
      spec,
      {.normed_forward = {kGateForward, kUpForward},
       .normed_backward = {kept ? kUpBackward : kGateAgain, kNormBackward},
       .normed_gradient = {kUpBackward, kNormBackward},
       .project_point = kProject,
       .projected_gradient = {kNormAfterBackward, kDownBackward},
       .projected_backward = kept ? LiveRange() : LiveRange{kProjectAgain, kNormAfterBackward}},
      ArrayRows::kPiece, arrays);
  const auto add = [&](ArrayDescription array) {
    array.width = width;
    array.rows = ArrayRows::kPiece;
    arrays.push_back(array);
  };
  add({.role = Role::kGate,
       .kept = kept,
       .forward = {kGateForward, kActivate},
       .backward = kept ? LiveRange() : LiveRange{kGateAgain, kDownBackward}});
  add({.role = Role::kUp,
       .kept = kept,
       .forward = {kUpForward, kActivate},
       .backward = kept ? LiveRange() : LiveRange{kUpAgain, kDownBackward}});
  const bool projects_again = !kept && spec.norm_after();
  add({.role = Role::kActivated,
       .forward = {kActivate, kProject},
       .backward = {projects_again ? kProjectAgain : kDownBackward, kDownBackward}});
  add({.role = Role::kGateGradient, .backward = {kDownBackward, kGateBackward}});
  add({.role = Role::kUpGradient, .backward = {kDownBackward, kUpBackward}});
  int64_t parameters = 0;
  for (const TensorSpec& tensor : FeedForwardTensors(spec)) {
    int64_t count = 1;
    for (const int64_t length : tensor.shape) count *= length;
    parameters += count;
  }
  arrays.push_back({.role = Role::kWeightGradientSum,
                    .width = parameters,
                    .type = ArrayType::kSum,
                    .rows = ArrayRows::kOne,
                    .backward = {kGateAgain, kNormBackward}});
  return arrays;
}

WorkDescription FeedForwardWork(const ModelSpec& spec, const StageOptions& options) {
  using Role = TensorRole;
  const int64_t width = spec.intermediate;
  const bool kept = options.keep_feed_forward;
  const Need inputs = kept ? Need::kBackward : Need::kAgain;
  const Need projection = !kept && spec.norm_after() ? Need::kAgain : NeedOfProjection(spec);
  WorkDescription work;
  work.gemms = {
      {.weight = Role::kGate, .need = inputs, .unit = kGateUnit, .out = width, .in = spec.hidden},
      {.weight = Role::kUp, .need = inputs, .unit = kUpUnit, .out = width, .in = spec.hidden},
      {.weight = Role::kDown,
       .need = projection,
       .unit = kDownUnit,
       .out = spec.hidden,
       .in = width}};
  AddBranchWork(spec, kDownUnit, projection, work);
  AddElements(work, kDownUnit, width, kGluCost, projection);
  return work;
}

}  // namespace horizon
