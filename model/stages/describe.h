#pragma once

#include <cstdint>
#include <vector>

#include "model/model_spec.h"
#include "model/stages/stage_description.h"
#include "model/tensor_spec.h"

namespace horizon {

// The description of a stage, by its kind; each is in the file of its name.

// How a stage can be cut (Stage::units), and how many of its units one token touches.
struct StageUnits {
  int64_t units = 1;
  int64_t tile = 1;
  int64_t active = 1;
};
StageUnits UnitsOf(const ModelSpec& spec, StageKind kind);

// Role, shape, unit and decay of the tensors, in the order in which they lie in memory: that of
// their units. Without names (stages.h adds the family's).
std::vector<TensorSpec> TensorsOf(const ModelSpec& spec, StageKind kind);

ArrayDescriptions ArraysOf(const ModelSpec& spec, StageKind kind);

// `layer`: that of the stage; of stages outside the layers it is not looked at.
WorkDescription DescribeWork(const ModelSpec& spec, StageKind kind, const LayerSpec& layer);

}  // namespace horizon
