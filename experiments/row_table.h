#pragma once

#include <string_view>

#include "experiments/run_experiments.h"
#include "presentation/csv.h"
#include "presentation/html.h"

namespace horizon {

// The rows of an experiment as tables: published | simulated | error, and what horizon would give.

// "TFLOPS", "tokens/s", "step seconds", "host GiB", "runs".
std::string_view UnitOf(Metric metric);

// One row for each of the experiment's; its notes are numbers into NotesTable.
HtmlTable RowsTable(const ExperimentRun& run);
HtmlTable NotesTable(const ExperimentRun& run);
CsvTable RowsCsv(const ExperimentRun& run);

}  // namespace horizon
