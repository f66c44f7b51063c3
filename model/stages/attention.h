#pragma once

#include <cstdint>
#include <vector>

#include "model/model_spec.h"
#include "model/stages/stage_description.h"
#include "model/tensor_spec.h"

namespace horizon {

// Attention: queries, keys and values of the (normed) input, a norm over queries and keys where the
// model has one, rotary position embedding, attention over the heads, output projection.

// Its units are its matrices, in the order of forward.
inline constexpr int64_t kQueryUnit = 0;
inline constexpr int64_t kKeyUnit = 1;
inline constexpr int64_t kValueUnit = 2;
inline constexpr int64_t kOutputUnit = 3;  // attention over the heads belongs to it
inline constexpr int64_t kAttentionUnits = 4;

// Values of a norm over queries (keys): of one head, or of all of them together.
int64_t QkNormWidth(const ModelSpec& spec, int64_t heads);
// Such norms a token has: one for each head, or one.
int64_t QkNormRows(const ModelSpec& spec, int64_t heads);

std::vector<TensorSpec> AttentionTensors(const ModelSpec& spec);
ArrayDescriptions AttentionArrays(const ModelSpec& spec);
WorkDescription AttentionWork(const ModelSpec& spec, const LayerSpec& layer);

}  // namespace horizon
