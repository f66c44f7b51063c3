#pragma once

#include <string>

#include "model/model_spec.h"
#include "model/stage_work.h"

namespace horizon {

// What `horizon model` prints: a model's stages with parameters, bytes of bf16 weights, and the
// flops and activation bytes (bf16) of a batch. `tokens` must be valid (ValidateTokens).

// A table for people; runs of equal layers are one row ("attention_0..27").
std::string ModelReportText(const ModelSpec& spec, TokenBatch tokens);

// {"name", "family", "parameters", "active_parameters", "layers", "hidden", "vocab", "tied", ...,
//  "batch", "sequence", "stages": [{"name", "kind", "layer", "parameters", "active_parameters",
//  "bytes", "forward_flops", "backward_flops",
//  "activation_bytes": {"kept", "recomputed", "transient"}, "units", "unit_tile",
//  "tensors": [{"name", "shape"}]}]}; every stage is listed, "layer" is null outside the layers.
std::string ModelReportJson(const ModelSpec& spec, TokenBatch tokens);

}  // namespace horizon
