#pragma once

#include <string>

#include "common/text/wrap.h"
#include "experiments/measured/measured_experiment.h"
#include "presentation/csv.h"
#include "presentation/html.h"

namespace horizon {

// The runs of a measured experiment as tables. Simulated and measured values have separate columns,
// named so.

HtmlTable MeasuredRowsTable(const MeasuredExperiment& experiment);
// Slope (bytes per parameter), intercept and R^2 of each line of host memory. No rows if the config
// asks for no lines.
HtmlTable HostLinesTable(const MeasuredExperiment& experiment);
// The headers have units; missing values are empty cells.
CsvTable MeasuredRowsCsv(const MeasuredExperiment& experiment);
// For a terminal of 110 columns: title, link, rows, errors, lines, violations.
std::string MeasuredText(const MeasuredExperiment& experiment, size_t columns = kAnyWidth);

// "link held to 0.52 GB/s: a layer's load takes 0.94 of its forward", or that it was not limited.
std::string LinkText(const MeasuredExperiment& experiment);

}  // namespace horizon
