#pragma once

#include <cstdint>
#include <vector>

#include "model/model_spec.h"
#include "model/stages/stage_description.h"
#include "model/tensor_spec.h"

namespace horizon {

// What attention, feed-forward and experts have in common: each is a branch off the residual
// stream,
//   x + residual_multiplier * [norm after](f([norm before](x)))
// whose norm before belongs to the stage's first unit, and all that comes after f to its last.

// The output of f is an array of its own, instead of being added to the residual stream as it is
// computed: a norm or a multiplier comes in between.
inline bool HasProjectedArray(const ModelSpec& spec) {
  return spec.norm_after() || spec.residual_multiplier != 1.0;
}

void AddNormBefore(const ModelSpec& spec, std::vector<TensorSpec>& tensors);
void AddNormAfter(const ModelSpec& spec, int64_t last_unit, std::vector<TensorSpec>& tensors);

// When a stage uses the arrays of the branch.
struct BranchMoments {
  Moments normed_forward;      // the normed input, from the norm to the last matrix that reads it
  Moments normed_backward;     // again, from the first matrix that needs it to the norm's backward
  int8_t projects = 0;         // the moment of forward that computes f's output
  Moments projected_gradient;  // of backward: from its begin to the last use of f's gradient
};
void AddBranchArrays(const ModelSpec& spec, const BranchMoments& moments,
                     ArrayDescriptions& arrays);

void AddBranchWork(const ModelSpec& spec, int64_t last_unit, WorkDescription& work);

// For the files of the stages.
TensorSpec Matrix(TensorRole role, int64_t unit, int64_t rows, int64_t columns);
TensorSpec Vector(TensorRole role, int64_t unit, int64_t length);
void AddElements(WorkDescription& work, int64_t unit, int64_t width, const ElementCost& cost);

}  // namespace horizon
