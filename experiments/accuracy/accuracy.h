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

// The paper's question about accuracy, asked at a size that trains in a minute: a model trained
// from scratch on word problems, once with all of it on the device and once streamed, then asked
// problems it has not seen. Measured, not simulated.

struct AccuracyOptions {
  std::string folder;  // exists; gets the problems
  int64_t seeds = 3;   // of first weights and order of samples: 0, 1, ...
  int64_t problems = 20'000;
  int64_t held_out = 400;
  int64_t hidden = 128;
  int64_t layers = 3;
  int64_t steps = 450;
  int64_t sequence = 256;
  int64_t micro_batch = 8;
  double learning_rate = 3e-3;
  int64_t threads = 1;                         // that compute; they change no bit
  std::function<void(std::string_view)> tell;  // how far it is, a line at a time; may be missing
};
// Of seconds, to see that everything works: one seed, and a model that learns little more than
// what an answer looks like.
AccuracyOptions QuickAccuracy();

ModelSpec AccuracyModel(const AccuracyOptions& options);

// A model with one seed.
struct AccuracyRun {
  int64_t right = 0;                 // held-out problems whose stated result is right
  std::vector<std::string> answers;  // to all of them
  uint64_t digest = 0;               // of masters and moments
  double last_loss = 0;              // of training
  double seconds = 0;                // of training
};

// The same with all seeds. Without a strategy: before any training.
struct AccuracyRow {
  std::optional<Strategy> strategy;
  NumberType compute = NumberType::kBf16;
  StateFormat state = StateFormat::kFp32;
  Bytes device_bytes;             // while training
  std::vector<AccuracyRun> runs;  // one for each seed
};

struct AccuracyResult {
  AccuracyOptions options;
  uint64_t parameters = 0;
  // The first is before training; then, for each arithmetic, `resident` and behind it `horizon`.
  std::vector<AccuracyRow> rows;
};

// Trains and asks. Every run of a row is trained and answers under the row's own strategy. Errors
// of Io, of the data and of Trainer and Generator.
absl::StatusOr<AccuracyResult> RunAccuracy(const AccuracyOptions& options, Io& io, Clock& clock);

}  // namespace horizon
