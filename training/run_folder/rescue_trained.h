#pragma once

#include "absl/status/status.h"
#include "model/load_model_spec.h"
#include "runtime/loop/training_run.h"
#include "training/begin_training.h"
#include "training/training_context.h"
#include "training/training_settings.h"

namespace horizon {

// For a run whose folder was deleted or moved (check_folder.h), which ended with
// `summary.folder_lost`: exports the model, as it is after the last step, into a new folder beside
// where the run folder was (RUN-rescued), and returns the I/O error that the run ends with: what
// happened, what is lost, where the model is, and how to go on.
absl::Status RescueTrained(const TrainingContext& context, const TrainingSettings& settings,
                           const LoadedModel& model, BegunTraining& begun,
                           const RunSummary& summary);

}  // namespace horizon
