#pragma once

#include <string>
#include <vector>

#include "experiments/run_experiments.h"

namespace horizon {

// A chart of the report with its caption.
struct ReportChart {
  std::string name;        // its file name without ".svg"
  std::string svg;         // made by DrawSvg
  std::string narrow_svg;  // the same for a phone
  std::string caption;     // says what is not drawn, and why
};

// Draws the charts of an experiment's config: published and simulated figures, and those of
// strategy `horizon`. Ignored rows show no published figure. Pure.
std::vector<ReportChart> DrawCharts(const ExperimentRun& run);

}  // namespace horizon
