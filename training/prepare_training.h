#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "model/load_model_spec.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/run_lock.h"
#include "runtime/data/training_data.h"
#include "training/plan_training.h"
#include "training/training_context.h"
#include "training/training_settings.h"

namespace horizon {

// A training from a model, settings and a context to a trained model on disk, in four steps, each
// of which takes what the one before made:
//   ASSIGN_OR_RETURN(PreparedTraining prepared, PrepareTraining(context, settings, model));
//   if (prepared.complete()) return FinishComplete(context, settings, model, std::move(prepared));
//   ASSIGN_OR_RETURN(BegunTraining begun,
//                    BeginTraining(context, settings, model, std::move(prepared)));
//   ASSIGN_OR_RETURN(TrainedSteps trained, TrainSteps(context, settings, begun, stop_requested));
//   return FinishTraining(context, settings, model, begun, trained);
// begin_training.h, train_steps.h and finish_training.h have the others.

// What is known before any memory is taken and anything but the tokenised data is written.
struct PreparedTraining {
  std::optional<RunLock> lock;             // none: the run folder is not there yet
  std::optional<Checkpoint> resume;        // where it goes on; none: from the initial weights
  TrainingData data;                       // at its beginning
  std::optional<PlannedTraining> planned;  // none: every step is done and saved

  bool complete() const { return !planned.has_value(); }
};

// Checks that job and model can run, locks the run folder if it is there, finds where to go on,
// opens the data and plans. FailedPrecondition for a folder in use or a plan that does not fit,
// InvalidArgument for a folder that holds something else, a model without weights or another job
// than the checkpoint's; else errors of the parts.
absl::StatusOr<PreparedTraining> PrepareTraining(const TrainingContext& context,
                                                 const TrainingSettings& settings,
                                                 const LoadedModel& model);

}  // namespace horizon
