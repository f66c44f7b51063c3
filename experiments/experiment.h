#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/documents/enum_words.h"
#include "experiments/published_row.h"

namespace horizon {

// An experiment: one figure or table of the paper, described by experiments/NAME/config.json and
// published.csv. Both files are compiled into the program.

enum class ChartKind { kLines, kBars };
enum class ChartX { kLayers, kHidden, kSequence, kRow };
std::span<const EnumWord<ChartKind>> WordsOf(ChartKind);
std::span<const EnumWord<ChartX>> WordsOf(ChartX);

// A chart of an experiment, as its config.json describes it.
struct ChartSpec {
  ChartKind kind = ChartKind::kBars;
  ChartX x = ChartX::kRow;
  Metric metric = Metric::kTflops;
  std::string x_label;
  std::string y_label;
};

// Rows that are more than 20 % off (agreement.h), and why.
struct KnownMiss {
  std::vector<std::string> rows;  // "ID, SYSTEM", as NameOf (compare_row.h) has it
  double worst = 0;               // the largest error in percent, so that a drift is noticed
  std::string reason;
};

// The check that the simulator has not drifted: the largest errors, in percent, with which an
// experiment passes. It says nothing about how good these errors are; Agreement does. A bound that
// is not given is not checked. No bound is above 20 %: rows that are further off are `misses`, and
// the bounds are of all others. The groups of rows are those of ExperimentSummary
// (error_summary.h).
struct ErrorBounds {
  std::optional<double> mean;          // mean error of `sound`
  std::optional<double> worst;         // largest error of `sound`
  std::optional<double> system_mean;   // mean error of `system`
  std::optional<double> system_worst;  // largest error of `system`
  std::optional<double> worst_other;   // largest error of `other`, so that a drift is noticed
  std::optional<double> host_worst;    // largest error of `host`
  int64_t wrong_status = 0;            // number of runs for which HasWrongStatus
  std::vector<KnownMiss> misses;
};

// An experiment, as read from its two files.
struct Experiment {
  std::string name;  // its folder
  std::string title;
  std::string summary;
  std::vector<ChartSpec> charts;
  bool largest_models = false;  // also search for the largest model of every machine
  ErrorBounds bounds;
  std::vector<std::string> remarks;  // why some figures are off
  std::vector<PublishedRow> rows;
};

// Reads an experiment. `config` and `published` are the texts of the two files. InvalidArgument
// with experiments/NAME/FILE and the line for what is wrong in them.
absl::StatusOr<Experiment> ReadExperiment(std::string_view name, std::string_view config,
                                          std::string_view published);

// All experiments of the program, in the order of the report.
std::vector<std::string> ExperimentNames();
absl::StatusOr<std::vector<Experiment>> LoadExperiments();

}  // namespace horizon
