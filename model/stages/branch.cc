#include "model/stages/branch.h"

namespace horizon {

TensorSpec Matrix(TensorRole role, int64_t unit, int64_t rows, int64_t columns) {
  TensorSpec tensor;
  tensor.role = role;
  tensor.shape = {rows, columns};
  tensor.unit = unit;
  tensor.decays = true;
  return tensor;
}

TensorSpec Vector(TensorRole role, int64_t unit, int64_t length) {
  TensorSpec tensor;
  tensor.role = role;
  tensor.shape = {length};
  tensor.unit = unit;
  return tensor;
}

void AddElements(WorkDescription& work, int64_t unit, int64_t width, const ElementCost& cost,
                 Need need) {
  work.elements.push_back({.need = need,
                           .unit = unit,
                           .width = width,
                           .forward = cost.forward,
                           .backward = cost.backward});
}

void AddNormBefore(const ModelSpec& spec, std::vector<TensorSpec>& tensors) {
  if (spec.norm_before()) tensors.push_back(Vector(TensorRole::kNorm, 0, spec.hidden));
}

void AddNormAfter(const ModelSpec& spec, int64_t last_unit, std::vector<TensorSpec>& tensors) {
  if (spec.norm_after()) {
    tensors.push_back(Vector(TensorRole::kNormAfter, last_unit, spec.hidden));
  }
}

void AddBranchArrays(const ModelSpec& spec, const BranchLiveRanges& ranges, ArrayRows rows,
                     ArrayDescriptions& arrays) {
  const LiveRange project = {ranges.project_point, ranges.project_point};
  // Without a place of its own in forward: there it is the hidden state that the pass has anyway.
  arrays.push_back({.role = ArrayRole::kInput, .width = spec.hidden, .kept = true});
  if (spec.norm_before()) {
    arrays.push_back({.role = ArrayRole::kNormed,
                      .width = spec.hidden,
                      .rows = rows,
                      .forward = ranges.normed_forward,
                      .backward = ranges.normed_backward});
    arrays.push_back(
        {.role = ArrayRole::kInverseRms, .width = 1, .type = ArrayType::kScalar, .kept = true});
  }
  arrays.push_back({.role = ArrayRole::kNormedGradient,
                    .width = spec.hidden,
                    .type = ArrayType::kSum,
                    .rows = rows,
                    .backward = ranges.normed_gradient});
  if (!HasProjectedArray(spec)) return;
  // The norm's backward reads its input again.
  const bool computed_again = spec.norm_after() && !ranges.projected_backward.empty();
  const bool kept = spec.norm_after() && !computed_again;
  const LiveRange again = computed_again ? ranges.projected_backward : LiveRange();
  arrays.push_back({.role = ArrayRole::kProjected,
                    .width = spec.hidden,
                    .rows = rows,
                    .kept = kept,
                    .forward = project,
                    .backward = again});
  if (spec.norm_after()) {
    arrays.push_back({.role = ArrayRole::kProjectedInverseRms,
                      .width = 1,
                      .type = ArrayType::kScalar,
                      .rows = rows,
                      .kept = kept,
                      .backward = again});
    arrays.push_back({.role = ArrayRole::kBranch,
                      .width = spec.hidden,
                      .rows = rows,
                      .forward = project,
                      .backward = again});
  }
  arrays.push_back({.role = ArrayRole::kProjectedGradient,
                    .width = spec.hidden,
                    .rows = rows,
                    .backward = ranges.projected_gradient});
}

void AddBranchWork(const ModelSpec& spec, int64_t last_unit, Need projection,
                   WorkDescription& work) {
  if (spec.norm_before()) AddElements(work, 0, spec.hidden, kNormCost);
  if (spec.norm_after()) AddElements(work, last_unit, spec.hidden, kNormCost, projection);
  if (HasProjectedArray(spec)) {
    AddElements(work, last_unit, spec.hidden, kScaleCost, Need::kOutput);
  }
  AddElements(work, last_unit, spec.hidden, kResidualCost, Need::kOutput);
}

}  // namespace horizon
