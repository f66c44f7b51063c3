#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "model/load_model_spec.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/run_lock.h"
#include "runtime/data/training_data.h"
#include "schedule/training_job.h"
#include "training/plan_training.h"
#include "training/training_context.h"
#include "training/training_settings.h"

namespace horizon {

// The first of the four functions of a training run. Together they go from a model, settings and a
// context to a trained model on disk; each takes the result of the one before:
//   ASSIGN_OR_RETURN(PreparedTraining prepared, PrepareTraining(context, settings, model));
//   if (prepared.complete()) return FinishComplete(context, settings, model, std::move(prepared));
//   ASSIGN_OR_RETURN(BegunTraining begun,
//                    BeginTraining(context, settings, model, std::move(prepared)));
//   ASSIGN_OR_RETURN(TrainedSteps trained, TrainSteps(context, settings, begun, stop_requested));
//   return FinishTraining(context, settings, model, begun, trained);
// begin_training.h, train_steps.h and finish_training.h declare the others.

// What is known about a training before it allocates memory. Only tokenised data has been written
// so far.
struct PreparedTraining {
  // The settings' job, with the number of its steps and the lengths of its samples.
  TrainingJob job;
  std::optional<RunLock> lock;             // none: the run folder does not exist yet
  std::optional<Checkpoint> resume;        // to resume from; none: starts from initial weights
  TrainingData data;                       // positioned at its beginning
  std::optional<PlannedTraining> planned;  // none: every step is done and saved

  // Whether every step is done and saved, so that only FinishComplete is left.
  bool complete() const { return !planned.has_value(); }
};

// Checks that the job and the model can run, locks the run folder if it exists, finds the
// checkpoint to resume from, opens the data, counts its steps where the job is given by epochs and
// how long its samples are, and makes the plan. FailedPrecondition if the folder is in use or the
// plan does not fit; InvalidArgument if the folder holds something else, the model has no weights,
// or the job is not that of the checkpoint; otherwise errors of these steps.
absl::StatusOr<PreparedTraining> PrepareTraining(const TrainingContext& context,
                                                 const TrainingSettings& settings,
                                                 const LoadedModel& model);

}  // namespace horizon
