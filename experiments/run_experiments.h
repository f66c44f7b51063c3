#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "experiments/compare_row.h"
#include "experiments/error_summary.h"
#include "experiments/experiment.h"
#include "experiments/largest_by_machine.h"
#include "planner/profile/calibration.h"

namespace horizon {

// An experiment with everything that was simulated for it.
struct ExperimentRun {
  Experiment experiment;
  std::vector<ComparedRow> rows;        // one for each of the experiment's, in its order
  std::vector<MachineLargest> largest;  // where the experiment asks for it
  ExperimentSummary summary;
};

// Runs the experiments with these names, or all of them where there is no name, in the report's
// order and each once. NotFound with the nearest name for one that does not exist.
absl::StatusOr<std::vector<ExperimentRun>> RunExperiments(Io& io,
                                                          std::span<const std::string> names,
                                                          const Calibration& calibration);

// The rows of all of them as one experiment without bounds.
ExperimentSummary SummarizeAll(std::span<const ExperimentRun> runs);

// "EXPERIMENT: VIOLATION" for every bound that does not hold.
std::vector<std::string> ViolationsOf(std::span<const ExperimentRun> runs);

}  // namespace horizon
