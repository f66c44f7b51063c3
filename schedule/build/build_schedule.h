#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/model_spec.h"
#include "schedule/chunk_table.h"
#include "schedule/schedule.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"

namespace horizon {

// Builds the schedule of a pass. This is a pure function of its arguments, and its result passes
// VerifySchedule. Returns InvalidArgument for a job or plan that contradicts itself or the model,
// and FailedPrecondition where a plan cannot be carried out (chunk_bytes or the ring is too small).
absl::StatusOr<Schedule> BuildSchedule(const ModelSpec& spec, const TrainingJob& job,
                                       const StreamPlan& plan, PassKind kind = PassKind::kTrain);

// Checks that the ring holds the largest recompute block, which chunk-major order needs: it takes
// every micro-batch through a block while the block is loaded. Returns FailedPrecondition with the
// depth needed. For training this is the only check of BuildSchedule that CutIntoChunks and
// LayOutBuffers do not make; the plan search calls the three without building schedules.
absl::Status CheckRingHoldsBlock(const ChunkTable& chunks, const TrainingJob& job,
                                 const StreamPlan& plan);

}  // namespace horizon
