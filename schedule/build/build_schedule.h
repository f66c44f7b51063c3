#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/model_spec.h"
#include "schedule/chunk_table.h"
#include "schedule/schedule.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"

namespace horizon {

// The work of a pass as data: a pure function of what is trained and how. The result passes
// VerifySchedule. InvalidArgument for a job or plan that contradicts itself or the model,
// FailedPrecondition where a plan cannot be carried out (chunk too small, ring too small).
absl::StatusOr<Schedule> BuildSchedule(const ModelSpec& spec, const TrainingJob& job,
                                       const StreamPlan& plan, PassKind kind = PassKind::kTrain);

// The one rule of BuildSchedule's for training that chunks and layout alone do not show, for
// searches that lay out many plans: chunk-major order takes every micro-batch through a block while
// it is loaded, so the ring has to hold one. FailedPrecondition with the depth needed.
absl::Status CheckRingHoldsBlock(const ChunkTable& chunks, const TrainingJob& job,
                                 const StreamPlan& plan);

}  // namespace horizon
