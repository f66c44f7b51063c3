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

// How a training run will be executed, and what time and memory it is predicted to take.
struct TrainingPlan {
  HardwareProfile profile;
  StreamPlan plan;
  Prediction prediction;
  Software software;        // the calibration that the prediction used
  Bytes arena_bytes;        // device memory that the schedule lays out
  StepDurations durations;  // predicted, for each operation of a steady step
  StepTimelines timelines;  // predicted, of that step; nothing is measured yet
};

// A plan with its schedule. The prediction was made from this schedule, and the trainer verifies
// and runs the same object (open_trainer.h).
struct PlannedTraining {
  TrainingPlan plan;
  Schedule schedule;
};

// Gets the machine's profile, measures how fast the machine is now (measure_speed_before_run.h),
// searches for a plan or reads the one that the settings name, predicts the run, and logs the plan
// and the prediction. A plan that the search found is neither built nor simulated again.
// FailedPrecondition, with what would fit, if the memory of the device or of this machine is too
// small; InvalidArgument if a plan does not suit the model and the job.
absl::StatusOr<PlannedTraining> PlanTraining(const TrainingContext& context,
                                             const TrainingSettings& settings,
                                             const TrainingJob& job, const ModelSpec& spec);

}  // namespace horizon
