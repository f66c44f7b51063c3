#pragma once

#include <span>
#include <string>
#include <vector>

#include "experiments/claims.h"
#include "experiments/run_experiments.h"
#include "planner/profile/calibration.h"
#include "presentation/csv.h"
#include "presentation/html.h"

namespace horizon {

// The tables of the report other than the rows of an experiment (row_table.h), for a browser and
// for other programs. All functions are pure.

// The largest models by machine.
HtmlTable LargestTable(std::span<const MachineLargest> machines);
CsvTable LargestCsv(std::span<const MachineLargest> machines);

// One row for each experiment and, if there are several, one for all of them.
HtmlTable SummaryTable(std::span<const ExperimentRun> runs);
CsvTable SummaryCsv(std::span<const ExperimentRun> runs);

// The judged rows of an experiment that are more than 20 % off for one reason.
struct MissGroup {
  std::string experiment;  // its title
  std::string reason;      // of the config; "" if none is given
  HtmlTable table;
};
std::vector<MissGroup> GroupMisses(std::span<const ExperimentRun> runs);

HtmlTable ClaimsTable(std::span<const Claim> claims);
CsvTable ClaimsCsv(std::span<const Claim> claims);

// A table of the machines and one of the strategies, each entry with the rows it was fitted on.
std::vector<HtmlTable> CalibrationTables(const Calibration& calibration);

}  // namespace horizon
