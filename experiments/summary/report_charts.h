#pragma once

#include <string>
#include <vector>

#include "experiments/run_experiments.h"

namespace horizon {

// A drawing of the report and what has to be said about it.
struct ReportChart {
  std::string name;     // of its file, without ".svg"
  std::string svg;      // DrawSvg
  std::string caption;  // what is not drawn, and why
};

// The charts of an experiment's config: published beside simulated and what horizon would give.
// Rows that are ignored show no published figure. Pure.
std::vector<ReportChart> DrawCharts(const ExperimentRun& run);

}  // namespace horizon
