#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/files/io.h"
#include "common/least_squares.h"
#include "common/units.h"
#include "experiments/measured/measured_config.h"
#include "experiments/published_row.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// Runs an experiment on this machine and compares each run with its simulation from the machine's
// profile.

// One row with its simulated and its measured values.
struct MeasuredRow {
  MeasuredRowConfig config;
  std::optional<BytesPerSecond> link;  // limit of the copy bandwidth, if any
  uint64_t parameters = 0;
  int64_t operations = 0;  // of a steady step
  // Simulated values.
  double simulated_seconds = 0;  // of a step
  Bytes simulated_host_bytes;
  Bytes arena_bytes;  // device memory of the layout
  // Measured values. Step times are converted to the profile's speed of the machine
  // (MeasuredRun::step_at_usual_speed), so that runs made at different moments can be compared.
  std::vector<double> round_seconds;  // of a step, by round
  std::vector<double> raw_seconds;    // of a step as measured, by round
  double seconds = 0;                 // the median of round_seconds
  Bytes host_bytes;    // largest peak of all rounds; simulated_host_bytes is of the same run
  Bytes device_bytes;  // peak of the device's arena
  Bytes h2d_bytes;     // copied over the link in a step
  Bytes d2h_bytes;
  std::vector<double> losses;

  double step_error() const { return seconds / simulated_seconds - 1; }
  double host_error() const {
    return static_cast<double>(host_bytes) / static_cast<double>(simulated_host_bytes) - 1;
  }
  int64_t tokens() const { return config.job.micro_batch_tokens() * config.job.accumulation; }
  // 6 x parameters x tokens / seconds, in 10^9 flops per second. Papers report this figure; it
  // ignores attention and recompute.
  double GflopsAt(double step_seconds) const;
};

// Peak host memory as a linear function of the number of parameters, fitted to the rows with the
// same `line`: the slope is bytes per parameter, the intercept is the memory without parameters.
struct HostLine {
  std::string line;
  LineFit simulated;
  LineFit measured;
};

// A measured experiment with all its results.
struct MeasuredExperiment {
  MeasuredConfig config;
  std::vector<PublishedRow> published;  // of the folder's published.csv, if there is one
  std::vector<MeasuredRow> rows;

  const MeasuredRow* Find(const std::string& name) const;
  // The change of throughput (6N flops per second, GflopsAt) from the row that `row` is compared
  // with: 0.1 is 10 % more. Empty if it is compared with none.
  std::optional<double> SimulatedChange(const MeasuredRow& row) const;
  std::optional<double> MeasuredChange(const MeasuredRow& row) const;
  // The change in the paper, if both rows name a published row.
  std::optional<double> PublishedChange(const MeasuredRow& row) const;
  const PublishedRow* PublishedOf(const MeasuredRow& row) const;
  std::vector<HostLine> HostLines() const;  // empty unless the config asks for them

  // Errors of the step time over the rows.
  double median_error() const;
  double worst_error() const;
  // The violated requirements, as "ROW: ...". On any machine the required losses must be equal, the
  // arena must be exact and constant, and host memory must not exceed the prediction.
  std::vector<std::string> Violations() const;
};

// All measured results of a report.
struct MeasuredHalf {
  std::string machine;  // the name of the profile that was simulated
  std::vector<MeasuredExperiment> experiments;

  std::vector<std::string> Violations() const;  // "EXPERIMENT, ROW: ..."
};

// What RunMeasuredExperiment runs with. References outlive the call.
struct MeasuredSetting {
  Io& io;
  Clock& clock;
  const HardwareProfile& profile;                  // of this machine
  std::function<void(const std::string&)> on_run;  // called before each run; may be null
};

// Makes the runs of a config: each row once in each round, in alternating order. Before the first
// run it lays out the memory of every row: FailedPrecondition, with the row's name, for a row that
// needs more than the config's arena, and the errors of BuildSchedule and CheckRunnable. Errors of
// the runs name experiment and row.
absl::StatusOr<MeasuredExperiment> RunMeasuredExperiment(const MeasuredConfig& config,
                                                         std::vector<PublishedRow> published,
                                                         const MeasuredSetting& setting);

// The link bandwidth at which, by the profile, the load of a layer takes `share` of the time of the
// forward of the layer before it. FailedPrecondition if the plan streams fewer than two layers;
// errors of BuildSchedule.
absl::StatusOr<BytesPerSecond> LinkForShare(const MeasuredCase& wanted,
                                            const HardwareProfile& profile, double share);

}  // namespace horizon
