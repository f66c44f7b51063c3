#pragma once

#include <cstdint>
#include <vector>

#include "model/model_spec.h"
#include "model/stages/stage_description.h"
#include "model/tensor_spec.h"

namespace horizon {

// Describes the attention stage: it projects the (normed) input to queries, keys and values,
// applies a norm to queries and keys if the model has one, applies rotary position embedding,
// attends over the heads, and projects the result to the output.

// The units of the stage are its matrices, in the order of forward.
inline constexpr int64_t kQueryUnit = 0;
inline constexpr int64_t kKeyUnit = 1;
inline constexpr int64_t kValueUnit = 2;
inline constexpr int64_t kOutputUnit = 3;  // attention over the heads belongs to this unit
inline constexpr int64_t kAttentionUnits = 4;

// The width of the norm over queries (or keys): one head, or all heads together.
int64_t QkNormWidth(const ModelSpec& spec, int64_t heads);
// How many such norms are computed per token: one per head, or one.
int64_t QkNormRows(const ModelSpec& spec, int64_t heads);

std::vector<TensorSpec> AttentionTensors(const ModelSpec& spec);
ArrayDescriptions AttentionArrays(const ModelSpec& spec);
WorkDescription AttentionWork(const ModelSpec& spec, const LayerSpec& layer);

}  // namespace horizon
