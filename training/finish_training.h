#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/load_model_spec.h"
#include "training/begin_training.h"
#include "training/prepare_training.h"
#include "training/train_steps.h"
#include "training/training_context.h"
#include "training/training_settings.h"

namespace horizon {

// What is answered when a training ends, for people and for programs.
struct TrainingAnswer {
  std::string text;
  std::string json;
};

struct FinishedTraining {
  std::optional<TrainingAnswer> answer;  // none: it was stopped, and goes on from a checkpoint
  absl::Status status;                   // Cancelled where it was stopped before its last step
};

// Exports the model and writes run.json, beside what was predicted. Of a run that was stopped and
// can go on nothing is exported. A status that is not OK means that this could not be done.
absl::StatusOr<FinishedTraining> FinishTraining(const TrainingContext& context,
                                                const TrainingSettings& settings,
                                                const LoadedModel& model, BegunTraining& begun,
                                                const TrainedSteps& trained);

// The end of a training whose steps were all done and saved before, as a scheduler finds it that
// starts a run again until it is done: exports the model unless it is there.
absl::StatusOr<TrainingAnswer> FinishComplete(const TrainingContext& context,
                                              const TrainingSettings& settings,
                                              const LoadedModel& model, PreparedTraining prepared);

}  // namespace horizon
