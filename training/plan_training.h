#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "common/units.h"
#include "model/model_spec.h"
#include "report/step_timelines.h"
#include "schedule/schedule.h"
#include "schedule/stream_plan.h"
#include "schedule/timeline/compare_timelines.h"
#include "simulator/cost_model.h"
#include "simulator/hardware_profile.h"
#include "simulator/prediction.h"
#include "training/training_context.h"
#include "training/training_settings.h"

namespace horizon {

// How a run will be done, and what it will take.
struct TrainingPlan {
  HardwareProfile profile;
  StreamPlan plan;
  Prediction prediction;
  Software software;        // that it was made with
  Bytes arena_bytes;        // of the device
  StepDurations durations;  // of the operations of a steady step, as predicted
  StepTimelines timelines;  // of that step, nothing measured
};

// The same with the one schedule of the training: the prediction was made from it, and it is the
// object that the trainer verifies and runs (open_trainer.h).
struct PlannedTraining {
  TrainingPlan plan;
  Schedule schedule;
};

// Asks for the machine's profile, looks how fast the machine is now, plans (or reads the plan that
// is named), predicts, and says so in the log. A plan that the search has found is neither built
// nor simulated again. FailedPrecondition, with what would fit, when the device's or this machine's
// memory is too small; InvalidArgument for a plan that does not go with model and job.
absl::StatusOr<PlannedTraining> PlanTraining(const TrainingContext& context,
                                             const TrainingSettings& settings,
                                             const ModelSpec& spec);

}  // namespace horizon
