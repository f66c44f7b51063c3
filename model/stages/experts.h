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
// values per token. The experts of a chunk go through one piece of the tokens after another: they
// sort its pairs by expert, multiply gate and up, activate, project, and add what they make of each
// token to an fp32 sum, in ascending order of the experts. What the router made, the normed input
// and that sum are there for all tokens, since the next shard needs them. Backward does the same
// with the experts in descending order; router and norm come last.
//
// In a chunk each expert has its tensors together (schedule/chunk_tensors.h).

std::vector<TensorSpec> ExpertsTensors(const ModelSpec& spec);
ArrayDescriptions ExpertsArrays(const ModelSpec& spec, const StageOptions& options);
WorkDescription ExpertsWork(const ModelSpec& spec, const StageOptions& options);

}  // namespace horizon
