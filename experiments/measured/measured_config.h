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

// The measured half of an experiment: experiments/NAME/measured.json, part of the program. Its rows
// are runs on this machine at a size it can train; model, job and plan of a row are those of the
// experiment with what the row changes.

enum class MeasuredMetric { kThroughput, kSeconds, kHostGib };
enum class MeasuredX { kLayers, kHidden, kParameters, kRow };
std::span<const EnumWord<MeasuredMetric>> WordsOf(MeasuredMetric);
std::span<const EnumWord<MeasuredX>> WordsOf(MeasuredX);

struct MeasuredChart {
  // Throughput is drawn as a share of the row it is compared with, so that the paper's stands
  // beside ours; layers and width then as multiples of that row's.
  MeasuredMetric metric = MeasuredMetric::kThroughput;
  MeasuredX x = MeasuredX::kRow;  // rows are bars, the others lines
  std::string x_label;
  std::string y_label;
};

struct MeasuredRowConfig {
  std::string name;
  ModelShape model;
  TrainingJob job;
  StreamPlan plan;
  bool link_limited = true;   // where the experiment limits the link
  std::string compared_with;  // a row: the change of throughput from it is shown; "": none
  std::string losses_as;      // a row: losses must be equal bit for bit; "": none
  std::string line;           // rows with one word make one line of host memory; "": all
  std::string published_row;  // id in published.csv of the same folder; "": none
};

struct MeasuredConfig {
  std::string name;  // its folder
  std::string title;
  std::string summary;
  int64_t steps = 5;   // of a run; the first is not measured
  int64_t rounds = 2;  // every row is run once in each, in alternating order
  // The link is held to the rate at which the load of a layer of the first row takes this share of
  // its forward; nothing: not limited. `link_reason` says why that share.
  std::optional<double> load_to_compute;
  std::string link_reason;
  std::optional<Bytes> arena;   // no row may need more of the device
  bool constant_arena = false;  // all rows need the same to the byte
  bool fit_host_memory = false;
  std::vector<MeasuredChart> charts;
  std::vector<std::string> remarks;
  std::vector<MeasuredRowConfig> rows;
};

enum class MeasuredSize { kFull, kQuick };  // quick: with what the member "quick" changes

// `text` is the file's; messages name experiments/NAME/measured.json with line and field.
// InvalidArgument for what is not a config: a row named twice or that names one which is not there,
// a width that is no multiple of a head, ...
absl::StatusOr<MeasuredConfig> ReadMeasuredConfig(std::string_view name, std::string_view text,
                                                  MeasuredSize size);

// Those of the program, in the report's order.
std::vector<std::string> MeasuredNames();
// The ones with these names, or all; NotFound with the nearest name for one that does not exist.
absl::StatusOr<std::vector<MeasuredConfig>> LoadMeasuredConfigs(std::span<const std::string> names,
                                                                MeasuredSize size);

}  // namespace horizon
