#pragma once

#include <cstdint>
#include <vector>

#include "model/model_spec.h"
#include "model/stages/stage_description.h"
#include "model/tensor_spec.h"

namespace horizon {

// The dense feed-forward part: gate and up of the (normed) input, the gated linear unit
// activation(gate) * up, down projection.

// Its units are its matrices, in the order of forward.
inline constexpr int64_t kGateUnit = 0;
inline constexpr int64_t kUpUnit = 1;
inline constexpr int64_t kDownUnit = 2;  // the gated linear unit belongs to it
inline constexpr int64_t kFeedForwardUnits = 3;

std::vector<TensorSpec> FeedForwardTensors(const ModelSpec& spec);
ArrayDescriptions FeedForwardArrays(const ModelSpec& spec);
WorkDescription FeedForwardWork(const ModelSpec& spec);

}  // namespace horizon
