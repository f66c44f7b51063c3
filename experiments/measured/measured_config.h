#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/documents/enum_words.h"
#include "common/units.h"
#include "experiments/measured/measured_run.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"

namespace horizon {

// The config of the measured half of an experiment: experiments/NAME/measured.json, compiled into
// the program. Its rows are runs on this machine, at a size that it can train. Model, job and plan
// of a row are those of the experiment with the row's changes.

enum class MeasuredMetric { kThroughput, kSeconds, kHostGib };
// kTokens: thousands of tokens of a step, 1,024 each.
enum class MeasuredX { kLayers, kHidden, kParameters, kTokens, kRow };
std::span<const EnumWord<MeasuredMetric>> WordsOf(MeasuredMetric);
std::span<const EnumWord<MeasuredX>> WordsOf(MeasuredX);

// A chart of a measured experiment.
struct MeasuredChart {
  // Throughput is drawn relative to the row that a row is compared with, so that the paper's
  // figures can be drawn beside ours; layers and width are then multiples of that row's.
  MeasuredMetric metric = MeasuredMetric::kThroughput;
  MeasuredX x = MeasuredX::kRow;  // kRow draws bars, the others draw lines
  std::string x_label;
  std::string y_label;
};

// One run of a measured experiment: a row of its config.
struct MeasuredRowConfig {
  std::string name;
  ModelShape model;
  TrainingJob job;
  StreamPlan plan;
  bool link_limited = true;   // whether the experiment's link limit applies, if it has one
  std::string compared_with;  // a row: the change of throughput from it is shown; "": none
  std::string losses_as;      // a row: the losses must equal its losses bit for bit; "": none
  std::string line;           // rows with the same word form one line of host memory; "": all
  std::string published_row;  // id in published.csv of the same folder; "": none
};

// A measured experiment, as its config describes it.
struct MeasuredConfig {
  std::string name;  // its folder
  std::string title;
  std::string summary;
  int64_t steps = 5;                  // of each run; the first one is not measured
  int64_t burst_steps = kBurstSteps;  // MeasuredCase::burst_steps; fewer for long steps
  int64_t rounds = 2;                 // each row runs once in each round; the order alternates
  // Limits the link to the bandwidth at which the load of a layer of the first row takes this share
  // of its forward (LinkForShare). Empty: no limit. `link_reason` says why it is this share.
  std::optional<double> load_to_compute;
  std::string link_reason;
  std::optional<Bytes> arena;   // no row may need more device memory
  bool constant_arena = false;  // all rows must need exactly the same device memory
  bool fit_host_memory = false;
  std::vector<MeasuredChart> charts;
  std::vector<std::string> remarks;
  std::vector<MeasuredRowConfig> rows;
};

enum class MeasuredSize { kFull, kQuick };  // quick: with the changes of the member "quick"

// Reads a config; `text` is the contents of the file. InvalidArgument, with
// experiments/NAME/measured.json, line and field, for an invalid config: two rows of one name, a
// reference to a row that does not exist, a width that is not a multiple of the head size, ...
absl::StatusOr<MeasuredConfig> ReadMeasuredConfig(std::string_view name, std::string_view text,
                                                  MeasuredSize size);

// The names of the measured experiments of the program, in the order of the report.
std::vector<std::string> MeasuredNames();
// The configs with these names, or all of them if `names` is empty. NotFound, with the nearest
// name, for one that does not exist.
absl::StatusOr<std::vector<MeasuredConfig>> LoadMeasuredConfigs(std::span<const std::string> names,
                                                                MeasuredSize size);

}  // namespace horizon
