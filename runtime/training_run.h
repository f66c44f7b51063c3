#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/io.h"
#include "common/units.h"
#include "runtime/data/token_source.h"
#include "runtime/device/device.h"
#include "runtime/trainer.h"

namespace horizon {

// What a person is told of a step as it ends.
struct StepNews {
  int64_t step = 0;
  int64_t steps = 0;
  double loss = 0;
  double gradient_norm = 0;
  double learning_rate = 0;
  double seconds = 0;
  double tokens_per_second = 0;
  Bytes host_bytes;     // of the process, resident now
  Bytes device_bytes;   // reserved
  std::string skipped;  // why the update was not made; empty: it was
};

struct TrainingRun {
  Io& io;
  Clock& clock;
  Device& device;
  Trainer& trainer;
  TokenSource& data;
  std::string folder;  // exists; gets metrics.jsonl and timeline.json
  double predicted_step_seconds = 0;
  bool log_gradient_norms = false;
  std::function<bool()> stop_requested;  // asked after each step
  std::function<void(const StepNews&)> on_step;
};

struct RunSummary {
  int64_t steps = 0;  // done, skipped ones included
  int64_t skipped = 0;
  double first_loss = 0;
  double last_loss = 0;
  double best_loss = 0;
  // Median over the steps after the first, which also starts things; of the first if it is alone.
  double step_seconds = 0;
  double seconds = 0;  // of all steps
  int64_t tokens_per_step = 0;
  bool interrupted = false;
};

// Trains the job of the trainer's schedule from step 1, writing metrics.jsonl (a line a step) and,
// at the end, timeline.json of the last step. The store then holds the state after the last step.
absl::StatusOr<RunSummary> RunTraining(const TrainingRun& run);

}  // namespace horizon
