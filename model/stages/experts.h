#pragma once

#include <vector>

#include "model/model_spec.h"
#include "model/stages/stage_description.h"
#include "model/tensor_spec.h"

namespace horizon {

// Describes a mixture of experts that replaces the feed-forward part: the router chooses experts
// for each token, and their outputs are added up. The units of the stage are its experts; norm and
// router belong to the first unit.
//
// A token-expert pair is a token and one of the experts chosen for it. There are always tokens x
// experts_per_token pairs. An array that has values per pair has experts_per_token times as many
// values per token.

std::vector<TensorSpec> ExpertsTensors(const ModelSpec& spec);
ArrayDescriptions ExpertsArrays(const ModelSpec& spec);
WorkDescription ExpertsWork(const ModelSpec& spec);

}  // namespace horizon
