#include "experiments/run_experiments.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "common/text/nearest_word.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

absl::Status CheckNames(std::span<const std::string> names) {
  const std::vector<std::string> known = ExperimentNames();
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return absl::NotFoundError(StrCat("no experiment ", Quoted(name), DidYouMean(name, known),
                                      "; there are ", absl::StrJoin(known, ", ")));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<ExperimentRun>> RunExperiments(Io& io,
                                                          std::span<const std::string> names,
                                                          const Calibration& calibration) {
  RETURN_IF_ERROR(CheckNames(names));
  ASSIGN_OR_RETURN(std::vector<Experiment> experiments, LoadExperiments());
  RowComparer comparer(io, calibration);
  std::vector<ExperimentRun> runs;
  for (Experiment& experiment : experiments) {
    if (!names.empty() && std::find(names.begin(), names.end(), experiment.name) == names.end()) {
      continue;
    }
    ExperimentRun run{.experiment = std::move(experiment)};
    for (const PublishedRow& row : run.experiment.rows) {
      ASSIGN_OR_RETURN(run.rows.emplace_back(), comparer.Compare(row));
    }
    if (run.experiment.largest_models) {
      ASSIGN_OR_RETURN(run.largest, FindLargestByMachine(io, calibration));
    }
    run.summary = Summarize(run.experiment.bounds, run.rows);
    runs.push_back(std::move(run));
  }
  return runs;
}

ExperimentSummary SummarizeAll(std::span<const ExperimentRun> runs) {
  std::vector<ComparedRow> rows;
  ErrorBounds unbounded;
  for (const ExperimentRun& run : runs) {
    rows.insert(rows.end(), run.rows.begin(), run.rows.end());
    unbounded.wrong_status += static_cast<int64_t>(run.rows.size());
  }
  ExperimentSummary summary = Summarize(unbounded, rows);
  // The misses of an experiment are known to its own config.
  summary.violations.clear();
  return summary;
}

std::vector<std::string> ViolationsOf(std::span<const ExperimentRun> runs) {
  std::vector<std::string> violations;
  for (const ExperimentRun& run : runs) {
    for (const std::string& violation : run.summary.violations) {
      violations.push_back(StrCat(run.experiment.name, ": ", violation));
    }
  }
  return violations;
}

}  // namespace horizon
