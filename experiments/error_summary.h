#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "experiments/compare_row.h"
#include "experiments/experiment.h"

namespace horizon {

// Summarizes the errors of simulated rows against published ones, and checks them against an
// experiment's bounds.

// Absolute errors of some rows, as fractions (0.05: 5 %). Zero if there are no rows.
struct ErrorStatistics {
  int64_t rows = 0;
  double mean = 0;
  double worst = 0;
  std::string worst_row;
};

struct ExperimentSummary {
  ErrorStatistics sound;   // judged rows of tier A: time and throughput
  ErrorStatistics system;  // the rows of `sound` that are runs of the published system itself
  ErrorStatistics host;    // judged rows of tier A: host memory
  ErrorStatistics other;   // judged rows of tier B: all metrics
  ErrorStatistics fitted;  // rows that the calibration was fitted on
  // Runs of tiers A and B for which HasWrongStatus: "ROW, SYSTEM: ran in print, ...". A run with
  // several figures is listed once.
  std::vector<std::string> wrong_status;
  std::vector<std::string> over_memory;  // names of runs for which IsOverOurMemory
  std::vector<std::string> violations;   // violated bounds, in words
};

ExperimentSummary Summarize(const ErrorBounds& bounds, std::span<const ComparedRow> rows);

}  // namespace horizon
