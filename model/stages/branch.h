#pragma once

#include <cstdint>
#include <vector>

#include "model/model_spec.h"
#include "model/stages/stage_description.h"
#include "model/tensor_spec.h"

namespace horizon {

// The parts that attention, feed-forward and experts have in common. Each is a branch off the
// residual stream:
//
//   x + residual_multiplier * [norm after](f([norm before](x)))
//
// The norm before f belongs to the first unit of the stage; everything after f belongs to its last
// unit.

// Whether the output of f needs an array of its own. Without a norm or a multiplier after f, the
// output is added to the residual stream as it is computed.
inline bool HasProjectedArray(const ModelSpec& spec) {
  return spec.norm_after() || spec.residual_multiplier != 1.0;
}

// Append the tensor of the norm before or after f, if the model has that norm.
void AddNormBefore(const ModelSpec& spec, std::vector<TensorSpec>& tensors);
void AddNormAfter(const ModelSpec& spec, int64_t last_unit, std::vector<TensorSpec>& tensors);

// The live ranges of the arrays of a branch, in the program points of a stage.
struct BranchLiveRanges {
  LiveRange normed_forward;  // normed input: from the norm to the last matrix that reads it
  // The normed input again: from the first matrix that needs it to the backward of the norm.
  LiveRange normed_backward;
  LiveRange normed_gradient;  // its gradient: from the first matrix that adds to it to that norm
  int8_t project_point = 0;   // the point of forward that computes the output of f
  // The gradient of the output of f: from the start of backward to its last use.
  LiveRange projected_gradient;
  // The output of f computed again, where it is not kept: from there to the norm after.
  LiveRange projected_backward = {};
};
// Append the arrays and the work of a branch: norms, multiplier and residual. `rows` are those of
// its scratch arrays. What the norm after reads in backward is kept unless `projected_backward` is
// given.
void AddBranchArrays(const ModelSpec& spec, const BranchLiveRanges& ranges, ArrayRows rows,
                     ArrayDescriptions& arrays);

// `projection` says what the output of f is needed for.
void AddBranchWork(const ModelSpec& spec, int64_t last_unit, Need projection,
                   WorkDescription& work);
// What the output of f is needed for where all that backward reads is kept.
inline Need NeedOfProjection(const ModelSpec& spec) {
  return spec.norm_after() ? Need::kBackward : Need::kOutput;
}

// Helpers for the description of a stage: a weight matrix, a vector (norm or bias), and
// element-wise work of `width` values per token.
TensorSpec Matrix(TensorRole role, int64_t unit, int64_t rows, int64_t columns);
TensorSpec Vector(TensorRole role, int64_t unit, int64_t length);
void AddElements(WorkDescription& work, int64_t unit, int64_t width, const ElementCost& cost,
                 Need need = Need::kBackward);

}  // namespace horizon
