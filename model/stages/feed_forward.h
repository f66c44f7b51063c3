#pragma once

#include <cstdint>
#include <vector>

#include "model/model_spec.h"
#include "model/stages/stage_description.h"
#include "model/tensor_spec.h"

namespace horizon {

// Describes the dense feed-forward stage: it projects the (normed) input to gate and up, computes
// the gated linear unit activation(gate) * up, and projects the result down.

// The units of the stage are its matrices, in the order of forward.
inline constexpr int64_t kGateUnit = 0;
inline constexpr int64_t kUpUnit = 1;
inline constexpr int64_t kDownUnit = 2;  // the gated linear unit belongs to this unit
inline constexpr int64_t kFeedForwardUnits = 3;

std::vector<TensorSpec> FeedForwardTensors(const ModelSpec& spec);
ArrayDescriptions FeedForwardArrays(const ModelSpec& spec, const StageOptions& options);
WorkDescription FeedForwardWork(const ModelSpec& spec, const StageOptions& options);

}  // namespace horizon
