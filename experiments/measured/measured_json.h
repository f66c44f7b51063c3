#pragma once

#include <span>
#include <string>

#include "common/documents/json.h"
#include "experiments/measured/measured_experiment.h"

namespace horizon {

// {"machine", "measured": [{"name", "title", "steps", "rounds", "load_to_compute",
// "median_error_percent",
//   "worst_error_percent", "violations", "host_lines": [{"line", "simulated": {...}, "measured":
//   {...}}], "rows": [{"run", "parameters", "link_bytes_per_second", "simulated": {...},
//   "measured": {...}, "change_percent": {...}, ...}]}]}
std::string MeasuredJson(const MeasuredHalf& half);
// The value of "measured" alone.
void WriteMeasured(std::span<const MeasuredExperiment> experiments, JsonWriter& json);

}  // namespace horizon
