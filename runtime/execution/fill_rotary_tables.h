#pragma once

#include <cstdint>
#include <vector>

#include "model/model_spec.h"

namespace horizon {

// Computes the rotary embedding tables (cosines and sines) of a model for `sequence` positions, in
// the layout of model/rotary_tables.h.
std::vector<float> RotaryTables(const ModelSpec& spec, int64_t sequence);

}  // namespace horizon
