#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/files/io.h"
#include "common/units.h"
#include "model/model_spec.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"

namespace horizon {

// The paper's accuracy experiment at a size that trains in a minute: a model is trained from
// scratch on word problems, once with everything on the device and once streamed, and then answers
// problems that it has not seen. The results are measured, not simulated.

// Settings of the experiment: data, model size and training.
struct AccuracyOptions {
  std::string folder;  // exists already; the problems are written there
  int64_t seeds = 3;   // number of seeds (0, 1, ...) for initial weights and sample order
  int64_t problems = 20'000;
  int64_t held_out = 400;
  int64_t hidden = 128;
  int64_t layers = 3;
  int64_t steps = 450;
  int64_t sequence = 256;
  int64_t micro_batch = 8;
  double learning_rate = 3e-3;
  int64_t threads = 1;  // compute threads; results do not depend on it
  std::function<void(std::string_view)> on_progress;  // gets a line after each run; may be null
};
// Options for a run of seconds, to see that everything works: one seed, and a model that learns
// little more than the form of an answer.
AccuracyOptions QuickAccuracy();

ModelSpec AccuracyModel(const AccuracyOptions& options);

// The result of one seed.
struct AccuracyRun {
  int64_t right = 0;                 // number of held-out problems answered correctly
  std::vector<std::string> answers;  // to all held-out problems
  uint64_t digest = 0;               // hash of master weights and moments after training
  double last_loss = 0;              // of the last training step
  double seconds = 0;                // training time
};

// One configuration with all seeds. Without a strategy: the model before any training.
struct AccuracyRow {
  std::optional<Strategy> strategy;
  NumberType compute = NumberType::kBf16;
  StateFormat state = StateFormat::kFp32;
  Bytes device_bytes;             // while training
  std::vector<AccuracyRun> runs;  // one for each seed
};

// The results of all rows.
struct AccuracyResult {
  AccuracyOptions options;
  uint64_t parameters = 0;
  // The first row is before training. Then each combination of compute type and state format has
  // two rows: `resident`, then `horizon`.
  std::vector<AccuracyRow> rows;
};

// Trains all models and has them answer the held-out problems. Every run of a row trains and
// answers with the row's own strategy. Errors of Io, of the data and of Trainer and Generator.
absl::StatusOr<AccuracyResult> RunAccuracy(const AccuracyOptions& options, Io& io, Clock& clock);

}  // namespace horizon
