#pragma once

#include <cstdint>
#include <vector>

#include "model/model_spec.h"
#include "model/stages/stage_description.h"
#include "model/tensor_spec.h"

namespace horizon {

// Returns the description of a stage by its kind. Each kind is described in the file of its name
// (attention.h, feed_forward.h, ...).

// How a stage can be cut (Stage::units), and how many of its units one token uses.
struct StageUnits {
  int64_t units = 1;
  int64_t tile = 1;
  int64_t active = 1;
};
StageUnits UnitsOf(const ModelSpec& spec, StageKind kind);

// The tensors with their role, shape, unit and weight decay, in the order in which they are stored
// in memory, which is the order of their units. Names are empty; ListStages (stages.h) adds the
// names of the family.
std::vector<TensorSpec> TensorsOf(const ModelSpec& spec, StageKind kind);

// The activations and scratch arrays that forward and backward use.
ArrayDescriptions ArraysOf(const ModelSpec& spec, StageKind kind, const StageOptions& options = {});

// The work of forward and backward. `layer` describes the layer of the stage; it is ignored for
// stages outside the layers.
WorkDescription DescribeWork(const ModelSpec& spec, StageKind kind, const LayerSpec& layer,
                             const StageOptions& options = {});

}  // namespace horizon
