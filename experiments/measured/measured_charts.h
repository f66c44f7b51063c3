#pragma once

#include <vector>

#include "experiments/measured/measured_experiment.h"
#include "experiments/summary/report_charts.h"

namespace horizon {

// Draws the charts of a measured config. They show the values simulated from this machine's
// profile, the values measured on it and, where there are any, the paper's. The charts are named
// NAME_measured, NAME_measured_2, ...
std::vector<ReportChart> DrawMeasuredCharts(const MeasuredExperiment& experiment);

}  // namespace horizon
