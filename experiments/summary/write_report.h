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

// The report as files: report.html, which needs nothing beside it, and for other programs NAME.csv
// of every experiment, NAME.svg of every chart, summary.csv and claims.csv, and results.json with
// all of it, from which `horizon report` makes a page; of what was measured NAME_measured.csv,
// NAME_measured.svg and measured.json.

struct ReportFile {
  std::string name;
  std::string text;
};

// All files, report.html last. Pure: the same runs give the same bytes.
std::vector<ReportFile> MakeReport(std::span<const ExperimentRun> runs,
                                   std::span<const Claim> claims, const Calibration& calibration,
                                   const MeasuredHalf& measured = {});

// Writes them into `folder`, which is made if missing (its parent is not). Each file appears whole
// or not at all. InvalidArgument where `folder` is no directory, else Io's errors.
absl::Status WriteReport(Io& io, const std::string& folder, std::span<const ReportFile> files);

}  // namespace horizon
