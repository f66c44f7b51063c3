#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "experiments/agreement.h"
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

// A judged row that is more than 20 % off.
struct MissedRow {
  size_t row = 0;  // its index among the rows that were summarized
  double error = 0;
  std::string reason;  // of the config; "" if none is given, which is a violation
};

// The errors of the rows of an experiment, by group, and how many rows agree.
struct ExperimentSummary {
  ErrorStatistics sound;   // judged rows of tier A: time and throughput
  ErrorStatistics system;  // the rows of `sound` that are runs of the published system itself
  ErrorStatistics host;    // judged rows of tier A: host memory
  ErrorStatistics other;   // judged rows of tier B: all metrics
  ErrorStatistics fitted;  // rows that the calibration was fitted on
  // Judged rows with a figure, of tiers A and B, by how they agree.
  int64_t holding = 0;
  int64_t close = 0;
  std::vector<MissedRow> missed;
  // Runs of tiers A and B for which HasWrongStatus: "ROW, SYSTEM: ran in print, ...". A run with
  // several figures is listed once.
  std::vector<std::string> wrong_status;
  std::vector<std::string> over_memory;  // names of runs for which IsOverOurMemory
  std::vector<std::string> violations;   // violated bounds, in words

  int64_t judged() const { return holding + close + static_cast<int64_t>(missed.size()); }
  // kMisses if any row misses or any run ends differently than published; kHolds if all rows hold.
  Agreement agreement() const;
};

// Summarizes the errors of all rows. The bounds apply to the rows that are not listed as known
// misses. A miss that is not listed is a violation, and so is a listed row that no longer misses.
ExperimentSummary Summarize(const ErrorBounds& bounds, std::span<const ComparedRow> rows);

}  // namespace horizon
