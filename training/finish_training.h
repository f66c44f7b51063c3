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

// The result of a finished training, as text for people and as JSON for programs (--json).
struct TrainingAnswer {
  std::string text;
  std::string json;
};

// How a training ended.
struct FinishedTraining {
  std::optional<TrainingAnswer> answer;  // none: no model was exported
  // Cancelled if the run was stopped before its last step. An I/O error if the last state could not
  // be saved, the model could not be exported, or the run folder was lost; its message says what is
  // kept.
  absl::Status status;
};

// Exports the model, measures the machine's speed again (measure_speed_after_run.h) unless the run
// was stopped, and writes run.json, which compares the run with its prediction, and timeline.json.
// If the run was stopped and can be resumed, no model is exported. Failing to write the files after
// the model is only a warning in the log.
FinishedTraining FinishTraining(const TrainingContext& context, const TrainingSettings& settings,
                                const LoadedModel& model, BegunTraining& begun,
                                const TrainedSteps& trained);

// Finishes a training whose steps were all done and saved by an earlier process: exports the model
// unless run.json says that this was done. This happens when a cluster scheduler restarts a run
// until it is complete. `prepared` must be complete (CHECK).
absl::StatusOr<TrainingAnswer> FinishComplete(const TrainingContext& context,
                                              const TrainingSettings& settings,
                                              const LoadedModel& model, PreparedTraining prepared);

}  // namespace horizon
