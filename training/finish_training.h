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
  std::optional<TrainingAnswer> answer;  // none: no model was exported
  // Cancelled where the run was stopped before its last step. An I/O error, which says what is
  // kept, where the last state could not be saved, the model not be exported, or the folder is
  // lost.
  absl::Status status;
};

// Exports the model, and after that writes run.json, beside what was predicted, and timeline.json.
// Of a run that was stopped and can go on nothing is exported. What is written after the model may
// fail: that is a warning in the log.
FinishedTraining FinishTraining(const TrainingContext& context, const TrainingSettings& settings,
                                const LoadedModel& model, BegunTraining& begun,
                                const TrainedSteps& trained);

// The end of a training whose steps were all done and saved before, as a scheduler finds it that
// starts a run again until it is done: exports the model unless it is there.
absl::StatusOr<TrainingAnswer> FinishComplete(const TrainingContext& context,
                                              const TrainingSettings& settings,
                                              const LoadedModel& model, PreparedTraining prepared);

}  // namespace horizon
