#pragma once

#include <cstdint>
#include <vector>

#include "model/model_spec.h"

namespace horizon {

// The rotary tables of a model for `sequence` positions, as model/rotary_tables.h lays them out.
std::vector<float> RotaryTables(const ModelSpec& spec, int64_t sequence);

}  // namespace horizon
