#include "schedule/build/build_schedule.h"

#include <utility>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "schedule/build/strategies.h"
#include "schedule/chunk_table.h"
#include "schedule/lay_out_memory.h"
#include "schedule/strategy_rules.h"

namespace horizon {

// Reloading a block for each micro-batch would cost more than batch-major order.
absl::Status CheckRingHoldsBlock(const ChunkTable& chunks, const TrainingJob& job,
                                 const StreamPlan& plan) {
  const bool needs = RulesOf(job, plan).ring_holds_block &&
                     plan.accumulation_order == AccumulationOrder::kChunkMajor &&
                     job.accumulation > 1;
  if (!needs || plan.buffer_depth >= chunks.LargestRecomputeBlock()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      StrCat("accumulation_order chunk_major needs a ring that holds a block: ",
             chunks.LargestRecomputeBlock(), " chunks, but buffer_depth is ", plan.buffer_depth,
             "; raise buffer_depth or chunk_bytes, lower anchor_interval, or use batch_major"));
}

absl::StatusOr<Schedule> BuildSchedule(const ModelSpec& spec, const TrainingJob& job,
                                       const StreamPlan& plan, PassKind kind) {
  RETURN_IF_ERROR(ValidateSpec(spec));
  RETURN_IF_ERROR(ValidateJob(spec, job));
  RETURN_IF_ERROR(ValidatePlan(spec, job, plan));
  Schedule schedule{.kind = kind, .job = job, .plan = plan};
  ASSIGN_OR_RETURN(schedule.chunks, CutIntoChunks(spec, job, plan));
  if (kind == PassKind::kTrain) {
    RETURN_IF_ERROR(CheckRingHoldsBlock(schedule.chunks, job, plan));
  }
  ASSIGN_OR_RETURN(LaidOutBuffers laid_out, LayOutBuffers(spec, job, plan, schedule.chunks, kind));
  schedule.memory = std::move(laid_out.memory);
  switch (plan.strategy) {
    case Strategy::kHorizon:
      BuildHorizon(spec, laid_out.map, schedule);
      break;
    case Strategy::kReference:
      BuildReference(spec, laid_out.map, schedule);
      break;
    case Strategy::kZero3Offload:
    case Strategy::kFsdpOffload:
    case Strategy::kGemini:
      BuildOffloadBaseline(spec, laid_out.map, schedule);
      break;
    case Strategy::kResident:
      BuildResident(spec, laid_out.map, schedule);
      break;
  }
  return schedule;
}

}  // namespace horizon
