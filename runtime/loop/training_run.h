#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

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
#include "runtime/loop/metrics_sink.h"
#include "schedule/timeline/compare_timelines.h"

namespace horizon {

// What is shown to the user when a step ends.
struct StepProgress {
  int64_t step = 0;
  int64_t steps = 0;
  double loss = 0;
  double gradient_norm = 0;
  double learning_rate = 0;
  double epoch = 0;                       // passes over the data so far
  std::optional<int64_t> trained_tokens;  // StepMetrics::trained_tokens
  double seconds = 0;
  double tokens_per_second = 0;
  Bytes host_bytes;     // resident memory of the process now
  Bytes device_bytes;   // allocated on the device
  std::string skipped;  // why the update was not made; empty when it was made
};

// The measured times of a steady step.
struct MeasuredStep {
  int64_t step = 0;
  const Timeline& timeline;        // of that step only
  const MeanDurations& durations;  // of the last steady steps, including this one
  bool last = false;               // this is the last call: the run has ended
};

// How a run saves checkpoints.
struct RunSaving {
  CheckpointSaver& saver;
  int64_t every = 0;  // steps between saves; 0: only when the run ends or is stopped
  // true: a save that fails ends the run. false: the run continues, and the next save tries again.
  bool must_succeed = false;
  std::string model_fingerprint;
  std::vector<FrozenTensor> frozen;  // ParameterStore::ChecksumFrozen of the run
  std::string data_fingerprint;
  std::function<void(const SaveReport&)> on_save;
};

// How a run evaluates on held-out data.
struct RunEvaluation {
  const ModelPass& pass;  // created beside the trainer's pass
  TokenSource& data;
  std::function<bool()> data_ended;  // called after a Fill: whether the data is at its end
  int64_t every = 0;                 // steps between evaluations; 0: only after the last step
  std::function<void(int64_t step, const Evaluation&)> on_evaluation;
};

// Everything a training loop needs. References and pointers outlive the loop.
struct TrainingRun {
  Io& io;
  Clock& clock;
  Device& device;
  Trainer& trainer;
  TokenSource& data;
  std::string folder;  // exists; metrics.jsonl, eval.jsonl and routing.jsonl are written there
  std::vector<MetricsFormat> metrics = {};  // further formats in which figures are written there
  double predicted_step_seconds = 0;
  bool log_gradient_norms = false;
  // For a run that resumes: the first step still to do, and what it has counted before.
  int64_t first_step = 1;
  RunCounters counters;
  const RunSaving* saving = nullptr;
  const RunEvaluation* evaluation = nullptr;
  std::function<bool()> stop_requested;  // called after each step
  // Called after each step and before the last save. It returns an error when the folder is no
  // longer the one in which the run began; then the steps end (RunSummary::folder_lost). May be
  // empty.
  std::function<absl::Status()> check_folder;
  std::function<void(const StepProgress&)> on_step;
  // Receives warnings, whole sentences about problems that do not end the run; may be empty.
  std::function<void(const std::string&)> on_warning;
  // Called for every steady step, and again for the last one when the run ends, in whatever way.
  std::function<void(const MeasuredStep&)> on_measured;
};

// The outcome of a training loop.
struct RunSummary {
  int64_t steps = 0;  // all steps done, including those before a resume and skipped ones
  int64_t skipped = 0;
  double first_loss = 0;
  double last_loss = 0;
  double best_loss = 0;
  // Median over the steps after the first, since the first has start-up costs; if there is only
  // one, its time.
  double step_seconds = 0;
  double seconds = 0;  // sum over all steps
  int64_t tokens_per_step = 0;
  double epoch = 0;                       // passes over the data
  std::optional<int64_t> trained_tokens;  // StepMetrics::trained_tokens
  // For each operation of a steady step, the median duration over the last steps; empty when there
  // was no steady step.
  StepDurations durations;
  bool interrupted = false;
  std::optional<Evaluation> evaluation;  // the last one
  std::optional<SaveReport> saved;       // the last one that succeeded
  absl::Status end_not_saved;            // why the state after the last step was not saved
  absl::Status folder_lost;              // check_folder's error, which ended the steps
  Timeline last_step;                    // measured operations of the last step
};

// Trains the steps of the trainer's job from `first_step` on, and writes metrics.jsonl (a line per
// step), eval.jsonl (a line per evaluation), routing.jsonl (of a model with experts: a line every
// kStepsPerRoutingLine steps, at each step that is saved and at the end) and the other formats in
// `metrics`. While nothing can be written to the disk, these figures are kept in memory
// (AppendFile). Afterwards the store holds the state after the last step, whether it could be saved
// or not. An error means that this state is not complete, or that a save that must succeed has
// failed. Where the state is on the host, checkpoints are written while steps run; otherwise, and
// for evaluations, the steps pause meanwhile. The moments of saves and evaluations never change a
// number.
absl::StatusOr<RunSummary> RunTrainingLoop(const TrainingRun& run);

}  // namespace horizon
