#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "runtime/loop/training_run.h"
#include "training/begin_training.h"
#include "training/saving.h"
#include "training/training_context.h"
#include "training/training_settings.h"

namespace horizon {

// The result of the steps of a training run. The trainer's parameter store holds the state after
// the last step.
struct TrainedSteps {
  RunSummary summary;
  SavingCost saving;
};

// Runs the remaining steps, with checkpoints and evaluations as the settings say, keeps the files
// of the run folder up to date and logs progress. If `stop_requested` is not empty, it is called
// after each step, and the run ends early when it returns true. Returns the errors of
// RunTrainingLoop.
absl::StatusOr<TrainedSteps> TrainSteps(const TrainingContext& context,
                                        const TrainingSettings& settings, BegunTraining& begun,
                                        const std::function<bool()>& stop_requested);

}  // namespace horizon
