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

// An experiment with all its simulation results.
struct ExperimentRun {
  Experiment experiment;
  std::vector<ComparedRow> rows;        // one for each row of the experiment, in its order
  std::vector<MachineLargest> largest;  // if the experiment asks for them
  ExperimentSummary summary;
};

// Runs the experiments with these names, or all of them if there is no name, in the order of the
// report and each once. NotFound, with the nearest name, for one that does not exist.
absl::StatusOr<std::vector<ExperimentRun>> RunExperiments(Io& io,
                                                          std::span<const std::string> names,
                                                          const Calibration& calibration);

// Summarizes the rows of all runs, as one experiment without bounds.
ExperimentSummary SummarizeAll(std::span<const ExperimentRun> runs);

// "EXPERIMENT: VIOLATION" for every violated bound.
std::vector<std::string> ViolationsOf(std::span<const ExperimentRun> runs);

}  // namespace horizon
