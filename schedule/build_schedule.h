#pragma once

#include "absl/status/statusor.h"
#include "model/model_spec.h"
#include "schedule/schedule.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"

namespace horizon {

// The work of a pass as data: a pure function of what is trained and how. The result passes
// VerifySchedule. InvalidArgument for a job or plan that contradicts itself or the model,
// FailedPrecondition where a plan cannot be carried out (chunk too small, ring too small).
absl::StatusOr<Schedule> BuildSchedule(const ModelSpec& spec, const TrainingJob& job,
                                       const StreamPlan& plan, PassKind kind = PassKind::kTrain);

}  // namespace horizon
