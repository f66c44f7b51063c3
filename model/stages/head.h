#pragma once

#include <vector>

#include "model/model_spec.h"
#include "model/stages/stage_description.h"
#include "model/tensor_spec.h"

namespace horizon {

// The end of a model: final norm and head. A tied head has no tensor: it uses the embedding's.
// Logits are no array of the head: the loss takes them in chunks whose size is the plan's.

std::vector<TensorSpec> FinalNormTensors(const ModelSpec& spec);
ArrayDescriptions FinalNormArrays(const ModelSpec& spec);
WorkDescription FinalNormWork(const ModelSpec& spec);

std::vector<TensorSpec> HeadTensors(const ModelSpec& spec);
ArrayDescriptions HeadArrays(const ModelSpec& spec);
WorkDescription HeadWork(const ModelSpec& spec);

}  // namespace horizon
