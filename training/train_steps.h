#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "runtime/loop/training_run.h"
#include "training/begin_training.h"
#include "training/saving.h"
#include "training/training_context.h"
#include "training/training_settings.h"

namespace horizon {

// What came of the steps of a training; the state after the last is in the trainer's store.
struct TrainedSteps {
  RunSummary summary;
  SavingCost saving;
};

// Makes the steps that are left, with checkpoints and evaluations as the settings say, keeps the
// files of the run folder up to date and tells the log. `stop_requested` is asked after each step
// and ends the run early; it may be missing. Errors of RunTrainingLoop.
absl::StatusOr<TrainedSteps> TrainSteps(const TrainingContext& context,
                                        const TrainingSettings& settings, BegunTraining& begun,
                                        const std::function<bool()>& stop_requested);

}  // namespace horizon
