#pragma once

#include <string>

#include "model/model_spec.h"
#include "model/quantization.h"
#include "model/stage_work.h"

namespace horizon {

// The output of `horizon model`: the stages of a model with their parameters, the bytes of their
// bf16 weights, and the flops and bf16 activation bytes of a batch. `tokens` must be valid
// (ValidateTokens).

// A table for people. A run of equal layers becomes one row ("attention_0..27"). `quantization` is
// how the weights beside the config.json are stored.
std::string ModelReportText(const ModelSpec& spec, TokenBatch tokens,
                            const Quantization& quantization = {});

// The same as JSON:
//   {"name", "family", "quantization", "parameters", "active_parameters", "layers", "hidden",
//   "vocab", "tied", ...,
//    "batch", "sequence", "stages": [{"name", "kind", "layer", "parameters", "active_parameters",
//    "bytes", "forward_flops", "backward_flops",
//    "activation_bytes": {"kept", "recomputed", "transient"}, "units", "unit_tile",
//    "tensors": [{"name", "shape"}]}]}
// Every stage is listed. "layer" is null for a stage outside the layers.
std::string ModelReportJson(const ModelSpec& spec, TokenBatch tokens,
                            const Quantization& quantization = {});

}  // namespace horizon
