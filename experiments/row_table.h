#pragma once

#include <string_view>

#include "experiments/run_experiments.h"
#include "presentation/csv.h"
#include "presentation/html.h"

namespace horizon {

// The rows of an experiment as tables: published | simulated | error, and the result of strategy
// `horizon`.

// "TFLOPS", "tokens/s", "seconds per step", "host memory, GiB", "runs at all".
std::string_view UnitOf(Metric metric);

// A table with one row for each row of the experiment. The notes in it are numbers that refer to
// NotesTable.
HtmlTable RowsTable(const ExperimentRun& run);
HtmlTable NotesTable(const ExperimentRun& run);
CsvTable RowsCsv(const ExperimentRun& run);

}  // namespace horizon
