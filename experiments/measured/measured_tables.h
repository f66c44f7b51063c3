#pragma once

#include <string>

#include "experiments/measured/measured_experiment.h"
#include "presentation/csv.h"
#include "presentation/html.h"

namespace horizon {

// The runs of a measured experiment as tables. What was simulated and what was measured stand in
// columns of their own, each named.

HtmlTable MeasuredRowsTable(const MeasuredExperiment& experiment);
// Bytes a parameter, bytes without any and R^2 of each line of host memory; no rows where the
// config asks for none.
HtmlTable HostLinesTable(const MeasuredExperiment& experiment);
// Units in the headers; empty cells where there is nothing.
CsvTable MeasuredRowsCsv(const MeasuredExperiment& experiment);
// For a terminal of 110 columns: title, link, rows, errors, lines, violations.
std::string MeasuredText(const MeasuredExperiment& experiment);

// "link held to 0.52 GB/s: a layer's load takes 0.94 of its forward", or that it was not limited.
std::string LinkText(const MeasuredExperiment& experiment);

}  // namespace horizon
