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

// The folder of a run, made and locked.
struct RunFolder {
  RunLock lock;
  OpenFolder open;                // to see whether it is still the one (lost_folder.h)
  std::string checkpoint_config;  // config.json of its checkpoints
  // Of a run that begins here: removes what it has written unless the start succeeds. Else null.
  std::unique_ptr<StartGuard> start;

  // From here on the folder holds a run.
  void Keep() {
    if (start != nullptr) start->Keep();
  }
};

// Makes the folder where it is missing, locks it unless `lock` is held already, and keeps in it
// what says how the run was started: job.json, train.yaml and the model's files. What an earlier
// start left that did no step goes.
absl::StatusOr<RunFolder> MakeRunFolder(const TrainingContext& context,
                                        const TrainingSettings& settings, const LoadedModel& model,
                                        std::optional<RunLock> lock);

// A training that is ready for its first step: memory is taken, and the store holds the state that
// step starts from. Between steps it is whole.
struct BegunTraining {
  TrainingPlan plan;
  RunFolder folder;
  OpenedTrainer opened;
  std::unique_ptr<ModelPass> held_out;  // beside the trainer's pass; null: nothing is evaluated
  CheckpointLayout layout;
  TrainingData data;                 // where the first step begins
  std::optional<Checkpoint> resume;  // that it goes on from
  std::vector<FrozenTensor> frozen;  // the base that the trained tensors go with

  Trainer& trainer() const { return *opened.trainer; }
};

// Opens the device, makes the trainer from the schedule that was planned, refuses what the disk
// cannot hold, makes the run folder, writes down what was predicted, and loads the state. After an
// error there is no run folder that was not there before.
// `prepared` is not complete (CHECK). The model outlives the result.
absl::StatusOr<BegunTraining> BeginTraining(const TrainingContext& context,
                                            const TrainingSettings& settings,
                                            const LoadedModel& model, PreparedTraining prepared);

}  // namespace horizon
