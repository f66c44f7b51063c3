#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/posix_open_folder.h"
#include "model/load_model_spec.h"
#include "runtime/checkpoint/checkpoint_layout.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/frozen_tensor.h"
#include "runtime/checkpoint/run_lock.h"
#include "runtime/data/training_data.h"
#include "runtime/execution/model_pass.h"
#include "training/open_trainer.h"
#include "training/plan_training.h"
#include "training/prepare_training.h"
#include "training/run_folder/start_files.h"
#include "training/training_context.h"
#include "training/training_settings.h"

namespace horizon {

// The folder of a run, created and locked by this process.
struct RunFolder {
  RunLock lock;
  OpenFolder open;  // to detect that somebody moved or deleted the folder (check_folder.h)
  std::string checkpoint_config;  // the text of config.json in the run's checkpoints
  // For a new run: removes the files that the start has written, unless the start succeeds. Null
  // for a run that is resumed.
  std::unique_ptr<StartGuard> start;

  // Call this when the start has succeeded: from now on the files stay.
  void Keep() {
    if (start != nullptr) start->Keep();
  }
};

// Creates the folder if it is missing, locks it unless `lock` already holds the lock, and writes
// the files that say how the run was started: job.json, train.yaml and the model's files. Files
// that an earlier start left before its first step are removed.
// `job` is PreparedTraining's.
absl::StatusOr<RunFolder> MakeRunFolder(const TrainingContext& context,
                                        const TrainingSettings& settings, const TrainingJob& job,
                                        const LoadedModel& model, std::optional<RunLock> lock);

// A training run that is ready for its first step: all memory is allocated, and the parameter store
// holds the weights and optimizer state from which that step starts. Between steps the store is
// always consistent.
struct BegunTraining {
  TrainingPlan plan;
  RunFolder folder;
  OpenedTrainer opened;
  // The forward pass that evaluates held-out data, beside the trainer's own; null: no evaluation.
  std::unique_ptr<ModelPass> held_out;
  CheckpointLayout layout;
  TrainingData data;                 // positioned at the first step's samples
  std::optional<Checkpoint> resume;  // the checkpoint that the run resumes from; none: a new run
  std::vector<FrozenTensor> frozen;  // checksums of the tensors that are not trained

  Trainer& trainer() const { return *opened.trainer; }
  const TrainingJob& job() const { return trainer().schedule().job; }  // PreparedTraining's
};

// Opens the device, creates the trainer from the planned schedule, checks that the disk can hold
// the checkpoints, creates the run folder, writes the prediction into it, and loads the weights and
// optimizer state. After an error it leaves no run folder that did not exist before.
// `prepared` must not be complete (CHECK). `model` must outlive the result.
absl::StatusOr<BegunTraining> BeginTraining(const TrainingContext& context,
                                            const TrainingSettings& settings,
                                            const LoadedModel& model, PreparedTraining prepared);

}  // namespace horizon
