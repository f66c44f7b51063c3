#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/files/io.h"

namespace horizon {

// What a run came to: run.json of a run folder, as `train` writes it at the end.

// A figure of the run; `error` is measured / predicted - 1, nothing where nothing was predicted.
struct ComparedFigure {
  double predicted = 0;
  double measured = 0;
  std::optional<double> error;
};
ComparedFigure Compare(double predicted, double measured);

// Busy seconds of a lane, of all operations of a kind, or of one operation, in a steady step.
struct ComparedWork {
  std::string name;  // of the lane, the kind or the operation
  std::string lane;
  int64_t operations = 1;
  ComparedFigure seconds;
};

// How fast the machine was after the run, as shares of its speed before.
struct SpeedChange {
  double products = 1;
  double memory = 1;
};

struct RunOutcome {
  int64_t steps = 0;  // done in all
  int64_t skipped = 0;
  bool interrupted = false;
  std::optional<double> first_loss;  // nothing: not finite
  std::optional<double> last_loss;
  ComparedFigure step_seconds;
  std::optional<SpeedChange> speed_change;
  // The step as it would have been predicted at the mean of both.
  std::optional<ComparedFigure> step_seconds_at_speed;
  ComparedFigure tokens_per_second;
  ComparedFigure host_bytes;
  ComparedFigure device_bytes;
  std::vector<ComparedWork> lanes;
  std::vector<ComparedWork> kinds;
  std::vector<ComparedWork> missed_most;
};

// InvalidArgument "FILE:LINE: FIELD: ..." for what is missing or no number; other keys than these
// are left alone. `file` is for messages.
absl::StatusOr<RunOutcome> ReadOutcome(const std::string& file, std::string_view text);
absl::StatusOr<RunOutcome> LoadOutcome(Io& io, const std::string& path);

}  // namespace horizon
