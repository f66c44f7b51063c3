#pragma once

#include <span>
#include <vector>

#include "experiments/claims.h"
#include "experiments/run_experiments.h"
#include "planner/profile/calibration.h"
#include "presentation/csv.h"
#include "presentation/html.h"

namespace horizon {

// The tables of the report that are not of one experiment's rows (row_table.h), for a browser and
// for other programs. All pure.

// The largest models by machine.
HtmlTable LargestTable(std::span<const MachineLargest> machines);
CsvTable LargestCsv(std::span<const MachineLargest> machines);

// One row for each experiment and, where there are several, one for all.
HtmlTable SummaryTable(std::span<const ExperimentRun> runs);
CsvTable SummaryCsv(std::span<const ExperimentRun> runs);

HtmlTable ClaimsTable(std::span<const Claim> claims);
CsvTable ClaimsCsv(std::span<const Claim> claims);

// Machines, then strategies, each with the rows it was fitted on.
std::vector<HtmlTable> CalibrationTables(const Calibration& calibration);

}  // namespace horizon
