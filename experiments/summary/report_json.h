#pragma once

#include <span>
#include <string>

#include "experiments/claims.h"
#include "experiments/measured/measured_experiment.h"
#include "experiments/run_experiments.h"

namespace horizon {

// The whole contents of the report as JSON: {"report", "verdict", "violations",
// "experiments": [{"name", "verdict", "summary", "rows", ...}], "claims"}. `report` is the path of
// report.html. Errors are in percent. A verdict tells how figures agree with the published ones;
// violations are of the bounds that catch a drift of the simulator. With measured results it also
// has "machine" and "measured" (measured_json.h).
std::string ReportJson(std::span<const ExperimentRun> runs, std::span<const Claim> claims,
                       const std::string& report, const MeasuredHalf& measured = {});

}  // namespace horizon
