#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "experiments/compare_row.h"
#include "experiments/experiment.h"

namespace horizon {

// How far simulated rows are from published ones, and whether that is within an experiment's
// bounds.

// Absolute errors of some rows, as shares (0.05: 5 %). Zero where there are no rows.
struct ErrorStatistics {
  int64_t rows = 0;
  double mean = 0;
  double worst = 0;
  std::string worst_row;
};

struct ExperimentSummary {
  ErrorStatistics sound;   // judged rows of tier A, in time or throughput
  ErrorStatistics system;  // of those, the runs of the published system itself
  ErrorStatistics host;    // judged rows of tier A, in host memory
  ErrorStatistics other;   // judged rows of tier B, in any figure
  ErrorStatistics fitted;  // rows the calibration was fitted on
  // Runs of tiers A and B that ran where they should not have, or not ran: "ROW, SYSTEM: ran in
  // print, ...". A run with several figures is listed once.
  std::vector<std::string> wrong_status;
  std::vector<std::string> over_memory;  // names of runs for which IsOverOurMemory
  std::vector<std::string> violations;   // of the bounds, in words; empty: all within
};

ExperimentSummary Summarize(const ErrorBounds& bounds, std::span<const ComparedRow> rows);

}  // namespace horizon
