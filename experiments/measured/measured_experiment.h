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
#include "common/units.h"
#include "experiments/line_fit.h"
#include "experiments/measured/measured_config.h"
#include "experiments/published_row.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// The runs of an experiment on this machine, each beside what was simulated of it from the
// machine's profile.

struct MeasuredRow {
  MeasuredRowConfig config;
  std::optional<BytesPerSecond> link;  // copies were held to this
  uint64_t parameters = 0;
  int64_t operations = 0;  // of a steady step
  // Simulated.
  double simulated_seconds = 0;  // a step
  Bytes simulated_host_bytes;
  Bytes arena_bytes;  // laid out
  // Measured. Steps at the profile's speed of the machine (MeasuredRun::step_at_usual_speed), so
  // that rows made at different moments can be compared.
  std::vector<double> round_seconds;  // a step, by round
  std::vector<double> raw_seconds;    // as they were, by round
  double seconds = 0;                 // the median of round_seconds
  Bytes host_bytes;                   // largest peak, beside the simulated one of the same run
  Bytes device_bytes;                 // of the arena
  Bytes h2d_bytes;                    // over the link in a step
  Bytes d2h_bytes;
  std::vector<double> losses;

  double step_error() const { return seconds / simulated_seconds - 1; }
  double host_error() const {
    return static_cast<double>(host_bytes) / static_cast<double>(simulated_host_bytes) - 1;
  }
  int64_t tokens() const { return config.job.micro_batch_tokens() * config.job.accumulation; }
  // 6 x parameters x tokens / seconds, in 10^9: what the papers count, whatever work is done.
  double GflopsAt(double step_seconds) const;
};

// Peak host memory of the rows with one word `line`, by parameters: bytes a parameter and what is
// there without any.
struct HostLine {
  std::string line;
  LineFit simulated;
  LineFit measured;
};

struct MeasuredExperiment {
  MeasuredConfig config;
  std::vector<PublishedRow> published;  // of the folder's published.csv, where there is one
  std::vector<MeasuredRow> rows;

  const MeasuredRow* Find(const std::string& name) const;
  // Throughput of a row as a share of that of the row it is compared with, minus 1; nothing where
  // it is compared with none. Both have the same tokens a parameter; 6N flops a second are
  // compared.
  std::optional<double> SimulatedChange(const MeasuredRow& row) const;
  std::optional<double> MeasuredChange(const MeasuredRow& row) const;
  // The paper's, where both rows name one of its rows.
  std::optional<double> PublishedChange(const MeasuredRow& row) const;
  const PublishedRow* PublishedOf(const MeasuredRow& row) const;
  std::vector<HostLine> HostLines() const;  // where the config asks for them

  // Of the step, over the rows.
  double median_error() const;
  double worst_error() const;
  // What must hold on any machine and does not: equal losses, an arena that is exact and constant,
  // host memory not above the prediction. "ROW: ...".
  std::vector<std::string> Violations() const;
};

// All that was measured for a report.
struct MeasuredHalf {
  std::string machine;  // whose profile the simulated figures are from
  std::vector<MeasuredExperiment> experiments;

  std::vector<std::string> Violations() const;  // "EXPERIMENT, ROW: ..."
};

struct MeasuredSetting {
  Io& io;
  Clock& clock;
  const HardwareProfile& profile;                // of this machine
  std::function<void(const std::string&)> tell;  // hears of each run before it begins; may be null
};

// Makes the runs of a config: every row once a round, in alternating order. Before the first run
// every row is laid out: FailedPrecondition, naming the row, for one that needs more than the arena
// of the config, and the errors of BuildSchedule and CheckRunnable. Errors of the runs name
// experiment and row.
absl::StatusOr<MeasuredExperiment> RunMeasuredExperiment(const MeasuredConfig& config,
                                                         std::vector<PublishedRow> published,
                                                         const MeasuredSetting& setting);

// The rate at which the load of a layer takes `share` of the forward of the layer before it, by the
// profile; FailedPrecondition where no layer of the case is streamed.
absl::StatusOr<BytesPerSecond> LinkForShare(const MeasuredCase& wanted,
                                            const HardwareProfile& profile, double share);

}  // namespace horizon
