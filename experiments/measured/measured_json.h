#pragma once

#include <span>
#include <string>

#include "common/documents/json.h"
#include "experiments/measured/measured_experiment.h"

namespace horizon {

// The measured results as JSON:
//   {"machine", "measured": [{"name", "title", "steps", "rounds", "load_to_compute",
//   "median_error_percent", "worst_error_percent", "violations",
//   "host_lines": [{"line", "simulated": {...}, "measured": {...}}],
//   "rows": [{"run", "parameters", "link_bytes_per_second", "simulated": {...},
//   "measured": {...}, "change_percent": {...}, ...}]}]}
std::string MeasuredJson(const MeasuredHalf& half);
// Writes the value of "measured" only.
void WriteMeasured(std::span<const MeasuredExperiment> experiments, JsonWriter& json);

}  // namespace horizon
