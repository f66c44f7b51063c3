#pragma once

#include "absl/status/status.h"
#include "model/load_model_spec.h"
#include "runtime/loop/training_run.h"
#include "training/begin_training.h"
#include "training/training_context.h"
#include "training/training_settings.h"

namespace horizon {

// Saves the model of a run whose folder was deleted or moved (check_folder.h) and that therefore
// ended with `summary.folder_lost`. It exports the model after the last step to a new folder beside
// the lost one (RUN-rescued), and returns the I/O error that the run ends with: what happened, what
// is lost, where the model is, and how to resume.
absl::Status RescueTrained(const TrainingContext& context, const TrainingSettings& settings,
                           const LoadedModel& model, BegunTraining& begun,
                           const RunSummary& summary);

}  // namespace horizon
