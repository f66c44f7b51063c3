#pragma once

#include <vector>

#include "experiments/measured/measured_experiment.h"
#include "experiments/summary/report_charts.h"

namespace horizon {

// The charts a measured config asks for: what was simulated from this machine's profile, what was
// measured on it and, where there is one, what the paper has. NAME_measured, then
// NAME_measured_2, ...
std::vector<ReportChart> DrawMeasuredCharts(const MeasuredExperiment& experiment);

}  // namespace horizon
