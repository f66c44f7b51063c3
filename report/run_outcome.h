#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/files/io.h"

namespace horizon {

// The outcome of a run: run.json of a run folder, which `train` writes at the end.

// A figure of the run. `error` is measured / predicted - 1; empty if nothing was predicted.
struct ComparedFigure {
  double predicted = 0;
  double measured = 0;
  std::optional<double> error;
};
ComparedFigure Compare(double predicted, double measured);

// Busy seconds of a lane, of all operations of one kind, or of one operation, in a steady step.
struct ComparedWork {
  std::string name;  // the lane, the kind or the operation
  std::string lane;
  int64_t operations = 1;
  ComparedFigure seconds;
};

// The speed of the machine after the run, as a fraction of its speed before.
struct SpeedChange {
  double gemm = 1;
  double memory = 1;
};

// The contents of run.json.
struct RunOutcome {
  int64_t steps = 0;  // total number of steps done
  int64_t skipped = 0;
  bool interrupted = false;
  std::optional<double> first_loss;  // empty: not finite
  std::optional<double> last_loss;
  ComparedFigure step_seconds;
  std::optional<SpeedChange> speed_change;
  // The step time, predicted at the mean of the speeds before and after the run.
  std::optional<ComparedFigure> step_seconds_at_speed;
  ComparedFigure tokens_per_second;
  ComparedFigure host_bytes;
  ComparedFigure device_bytes;
  std::vector<ComparedWork> lanes;
  std::vector<ComparedWork> kinds;
  std::vector<ComparedWork> missed_most;
};

// Reads run.json. InvalidArgument "FILE:LINE: FIELD: ..." for a missing or invalid value; unknown
// keys are ignored. `file` is for messages.
absl::StatusOr<RunOutcome> ReadOutcome(const std::string& file, std::string_view text);
absl::StatusOr<RunOutcome> LoadOutcome(Io& io, const std::string& path);

}  // namespace horizon
