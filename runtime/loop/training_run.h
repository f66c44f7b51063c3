#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/files/io.h"
#include "common/units.h"
#include "runtime/checkpoint/checkpoint_saver.h"
#include "runtime/checkpoint/manifest.h"
#include "runtime/data/token_source.h"
#include "runtime/device/device.h"
#include "runtime/execution/model_pass.h"
#include "runtime/execution/trainer.h"
#include "runtime/inference/evaluate.h"
#include "schedule/timeline/compare_timelines.h"

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

// A steady step as it was measured.
struct MeasuredStep {
  int64_t step = 0;
  const Timeline& timeline;          // of that step alone
  const MedianDurations& durations;  // of the last steady steps, this one among them
  bool last = false;                 // the run has ended
};

// Checkpoints of a run.
struct RunSaving {
  CheckpointSaver& saver;
  int64_t every = 0;  // steps; 0: only when the run ends or is stopped
  // A save that fails ends the run. Otherwise it goes on, and the next save is another attempt.
  bool must_succeed = false;
  std::string model_fingerprint;
  std::vector<FrozenTensor> frozen;  // ParameterStore::ChecksumFrozen of the run
  std::string data_fingerprint;
  std::function<void(const SaveReport&)> on_save;
};

// Evaluations of a run on data that is held out.
struct RunEvaluation {
  const ModelPass& pass;  // beside the trainer's
  TokenSource& data;
  std::function<bool()> data_ended;  // after a Fill: there is no more
  int64_t every = 0;                 // steps; 0: only after the last
  std::function<void(int64_t step, const Evaluation&)> on_evaluation;
};

struct TrainingRun {
  Io& io;
  Clock& clock;
  Device& device;
  Trainer& trainer;
  TokenSource& data;
  std::string folder;  // exists; gets metrics.jsonl and eval.jsonl
  double predicted_step_seconds = 0;
  bool log_gradient_norms = false;
  // Of a run that goes on: the first step still to be done, and what it counted before.
  int64_t first_step = 1;
  RunCounters counters;
  const RunSaving* saving = nullptr;
  const RunEvaluation* evaluation = nullptr;
  std::function<bool()> stop_requested;  // asked after each step
  // Asked after each step and before the last save: an error where the folder is no longer the one
  // the run began in. Then the steps end (RunSummary::folder_lost). May be missing.
  std::function<absl::Status()> check_folder;
  std::function<void(const StepNews&)> on_step;
  // Hears of what went wrong and does not end the run, in whole sentences; may be missing.
  std::function<void(const std::string&)> on_warning;
  // Hears of every steady step, and of the last one again when the run ends, in whatever way.
  std::function<void(const MeasuredStep&)> on_measured;
};

struct RunSummary {
  int64_t steps = 0;  // done in all, those before a resume and skipped ones included
  int64_t skipped = 0;
  double first_loss = 0;
  double last_loss = 0;
  double best_loss = 0;
  // Median over the steps after the first, which also starts things; of the first if it is alone.
  double step_seconds = 0;
  double seconds = 0;  // of all steps
  int64_t tokens_per_step = 0;
  // Of each operation of a steady step, the median over the last steps; empty: there was none.
  StepDurations durations;
  bool interrupted = false;
  std::optional<Evaluation> evaluation;  // the last one
  std::optional<SaveReport> saved;       // the last one that succeeded
  absl::Status end_not_saved;            // why the state after the last step was not saved
  absl::Status folder_lost;              // check_folder's error; the steps ended at it
  Timeline last_step;                    // its operations, as they were measured
};

// Trains the steps of the trainer's job from `first_step` on, writing metrics.jsonl (a line a step)
// and eval.jsonl (a line an evaluation), which wait in memory while the disk takes nothing
// (LineFile). The store then holds the state after the last step, whether that could be saved or
// not: errors are those of a state that is not whole, and of a save that must succeed. Updates are
// made and saved while steps run, where the state is on the host; otherwise, and for evaluations,
// the steps stop meanwhile. What is done when never changes a number.
absl::StatusOr<RunSummary> RunTrainingLoop(const TrainingRun& run);

}  // namespace horizon
