#pragma once

#include <vector>

#include "model/model_spec.h"
#include "model/stages/stage_description.h"
#include "model/tensor_spec.h"

namespace horizon {

// Describes the last two stages of a model: the final norm and the head. A tied head has no tensor:
// it uses the table of the embedding. The logits are not an array of the head: the loss computes
// them in chunks, and the plan sets the size of a chunk.

std::vector<TensorSpec> FinalNormTensors(const ModelSpec& spec);
ArrayDescriptions FinalNormArrays(const ModelSpec& spec);
WorkDescription FinalNormWork(const ModelSpec& spec);

std::vector<TensorSpec> HeadTensors(const ModelSpec& spec);
ArrayDescriptions HeadArrays(const ModelSpec& spec);
WorkDescription HeadWork(const ModelSpec& spec);

}  // namespace horizon
