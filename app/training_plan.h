#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "app/command.h"
#include "app/device_option.h"
#include "app/train_options.h"
#include "model/model_spec.h"
#include "report/step_timelines.h"
#include "schedule/compare_timelines.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"
#include "simulator/cost_model.h"
#include "simulator/hardware_profile.h"
#include "simulator/prediction.h"

namespace horizon {

// How a run will be done, and what it will take.
struct TrainingPlan {
  HardwareProfile profile;
  StreamPlan plan;
  Prediction prediction;
  Software software;         // that it was made with
  uint64_t arena_bytes = 0;  // of the device
  StepDurations durations;   // of the operations of a steady step, as predicted
  StepTimelines timelines;   // of that step, nothing measured
};

// Measures this machine (or reads the profile that is named), plans (or reads a plan), predicts,
// and says so in the log. FailedPrecondition, with what would fit, when the device's or this
// machine's memory is too small; InvalidArgument for a plan that does not go with model and job.
absl::StatusOr<TrainingPlan> PlanTraining(const CommandContext& context,
                                          const TrainOptions& options, const ChosenDevice& device,
                                          const ModelSpec& spec, const TrainingJob& job);

}  // namespace horizon
