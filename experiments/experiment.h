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

// One figure or table of the paper: experiments/NAME/config.json and published.csv, both part of
// the program.

enum class ChartKind { kLines, kBars };
enum class ChartX { kLayers, kHidden, kSequence, kRow };
std::span<const EnumWord<ChartKind>> WordsOf(ChartKind);
std::span<const EnumWord<ChartX>> WordsOf(ChartX);

struct ChartSpec {
  ChartKind kind = ChartKind::kBars;
  ChartX x = ChartX::kRow;
  Metric metric = Metric::kTflops;
  std::string x_label;
  std::string y_label;
};

// How far errors may go before the experiment fails; in percent. What is not given is not judged.
struct ErrorBounds {
  std::optional<double> mean;          // of judged sound rows in time or throughput
  std::optional<double> worst;         // of them
  std::optional<double> system_mean;   // of those of the published system itself
  std::optional<double> system_worst;  // of them
  std::optional<double> worst_other;   // of judged rows of tier B, so that a drift is seen
  std::optional<double> host_worst;    // of judged sound rows in host memory
  int64_t wrong_status = 0;  // runs that end otherwise than published; see error_summary.h
};

struct Experiment {
  std::string name;  // its folder
  std::string title;
  std::string summary;
  std::vector<ChartSpec> charts;
  bool largest_models = false;  // also look for the largest model of every machine
  ErrorBounds bounds;
  std::vector<std::string> remarks;  // why figures are missed
  std::vector<PublishedRow> rows;
};

// `config` and `published` are the texts of the two files; messages name experiments/NAME/FILE.
absl::StatusOr<Experiment> ReadExperiment(std::string_view name, std::string_view config,
                                          std::string_view published);

// All of them, in the report's order.
std::vector<std::string> ExperimentNames();
absl::StatusOr<std::vector<Experiment>> LoadExperiments();

}  // namespace horizon
