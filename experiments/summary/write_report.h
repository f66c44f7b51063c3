#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/files/io.h"
#include "experiments/claims.h"
#include "experiments/measured/measured_experiment.h"
#include "experiments/run_experiments.h"
#include "planner/profile/calibration.h"

namespace horizon {

// Writes the report of the experiments as files. report.html is self-contained. For other programs
// there are NAME.csv of every experiment, NAME.svg of every chart, summary.csv, claims.csv, and
// results.json with everything, from which `horizon report` makes a page. Measured results add
// NAME_measured.csv, NAME_measured.svg and measured.json.

// A file of the report: its name and its whole text.
struct ReportFile {
  std::string name;
  std::string text;
};

// Makes all files, report.html last. Pure: the same runs give the same bytes.
std::vector<ReportFile> MakeReport(std::span<const ExperimentRun> runs,
                                   std::span<const Claim> claims, const Calibration& calibration,
                                   const MeasuredHalf& measured = {});

// Writes the files into `folder`, which is created if missing (its parent must exist). Each file
// appears whole or not at all. InvalidArgument if `folder` is not a directory; Io's errors.
absl::Status WriteReport(Io& io, const std::string& folder, std::span<const ReportFile> files);

}  // namespace horizon
