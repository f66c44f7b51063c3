#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/claims.h"
#include "experiments/csv.h"
#include "experiments/html.h"
#include "experiments/run_experiments.h"
#include "planner/calibration.h"

namespace horizon {

// The tables of the report: what was run as cells, for a browser and for other programs. All pure.

// "TFLOPS", "tokens/s", "step seconds", "host GiB", "runs".
std::string_view UnitOf(Metric metric);

// One row for each of the experiment's; its notes are numbers into NotesTable.
HtmlTable RowsTable(const ExperimentRun& run);
HtmlTable NotesTable(const ExperimentRun& run);
CsvTable RowsCsv(const ExperimentRun& run);

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
