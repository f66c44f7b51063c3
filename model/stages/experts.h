#pragma once

#include <vector>

#include "model/model_spec.h"
#include "model/stages/stage_description.h"
#include "model/tensor_spec.h"

namespace horizon {

// A mixture of experts in place of the feed-forward part: router, the chosen experts of each token,
// their outputs added up. Its units are its experts; norm and router belong to the first.
//
// A token-expert pair is a token and one of the experts chosen for it: tokens x experts_per_token
// of them, always. Arrays of pairs count as that many values a token.

std::vector<TensorSpec> ExpertsTensors(const ModelSpec& spec);
ArrayDescriptions ExpertsArrays(const ModelSpec& spec);
WorkDescription ExpertsWork(const ModelSpec& spec);

}  // namespace horizon
