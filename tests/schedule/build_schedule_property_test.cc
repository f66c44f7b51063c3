// Whatever the model, job and plan: what is built is right, and streams as little as it may.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "schedule/build/build_schedule.h"
#include "schedule/chunk_table.h"
#include "schedule/lay_out_memory.h"
#include "schedule/verify/verify_schedule.h"
#include "tests/schedule/random_plans.h"

namespace horizon {
namespace {

// A plan may be impossible (a chunk too small for a stage, a ring too small for chunk-major order);
// then the reason is FailedPrecondition. Anything else is a fault.
absl::StatusOr<Schedule> BuildOrDiscard(const RandomCase& random, PassKind kind) {
  absl::StatusOr<Schedule> schedule = BuildSchedule(random.spec, random.job, random.plan, kind);
  if (!schedule.ok()) {
    RC_ASSERT(schedule.status().code() == absl::StatusCode::kFailedPrecondition);
    RC_DISCARD("impossible plan");
  }
  return schedule;
}

RC_GTEST_PROP(BuildSchedule, EveryPassOfEveryStrategyIsVerified, ()) {
  const RandomCase random = *RandomAnyCase();
  const PassKind kind =
      *rc::gen::element(PassKind::kTrain, PassKind::kTrain, PassKind::kTrain, PassKind::kEvaluate,
                        PassKind::kPrefill, PassKind::kDecode);
  const Schedule schedule = *BuildOrDiscard(random, kind);
  const absl::Status status = VerifySchedule(schedule);
  RC_LOG() << status.ToString();
  RC_ASSERT(status.ok());
}

// The plan search cuts a model once for many plans, and only measures their memory. It must come to
// what a schedule has.
RC_GTEST_PROP(BuildSchedule, ASearchMeasuresWhatIsLaidOut, ()) {
  const RandomCase random = *RandomAnyCase();
  const PassKind kind = *rc::gen::element(PassKind::kTrain, PassKind::kTrain, PassKind::kDecode);
  const Schedule schedule = *BuildOrDiscard(random, kind);
  StreamPlan other = random.plan;
  other.resident_chunks = 0;
  other.embedding_home = EmbeddingHome::kDevice;
  other.loss_chunk_tokens = kLossTile;
  other.buffer_depth = 1;
  const absl::StatusOr<StageList> stages = ListTrainedStages(random.spec, random.job);
  RC_ASSERT(stages.ok());
  absl::StatusOr<ChunkTable> chunks = CutIntoChunks(*stages, random.spec, random.job, other);
  RC_ASSERT(chunks.ok());
  MarkResident(random.job, random.plan, *chunks);
  RC_ASSERT(chunks->chunks.size() == schedule.chunks.chunks.size());
  for (size_t c = 0; c < chunks->chunks.size(); ++c) {
    const Chunk& cut = chunks->chunks[c];
    const Chunk& built = schedule.chunks.chunks[c];
    RC_ASSERT(cut.resident == built.resident);
    RC_ASSERT(cut.parameters == built.parameters);
    RC_ASSERT(cut.moment_blocks == built.moment_blocks);
    RC_ASSERT(cut.recompute_block == built.recompute_block);
  }
  const absl::StatusOr<MemoryTotals> totals =
      MeasureLayout(random.spec, random.job, random.plan, *chunks, kind);
  RC_ASSERT(totals.ok());
  RC_ASSERT(*totals == schedule.memory.totals);
}

// How often each chunk crosses the link in a steady step, counted from the operations alone.
std::vector<int64_t> LoadsOf(const Schedule& schedule) {
  std::vector<int64_t> loads(schedule.chunks.chunks.size(), 0);
  for (const Operation& op : schedule.steady.operations) {
    if (op.kind == OperationKind::kLoadChunk) ++loads[op.chunk];
  }
  return loads;
}

// Weights cross twice a pass where the ring holds a block, three times where it cannot, less what
// is still in the ring at a turn: a turn saves at most one load for each slot.
RC_GTEST_PROP(BuildSchedule, HorizonLoadsAsSeldomAsTheRingAllows, ()) {
  const RandomCase random = *RandomHorizonCase();
  const Schedule s = *BuildOrDiscard(random, PassKind::kTrain);
  const ChunkTable& chunks = s.chunks;
  const std::vector<int64_t> loads = LoadsOf(s);
  const bool chunk_major = s.plan.accumulation_order == AccumulationOrder::kChunkMajor;
  const int64_t passes = chunk_major ? 1 : s.job.accumulation;
  const bool holds_block =
      !s.plan.recompute || s.plan.buffer_depth >= chunks.LargestRecomputeBlock();

  int64_t layer_loads = 0;
  int64_t streamed = 0;
  for (int32_t c = chunks.layers.begin; c < chunks.layers.end; ++c) {
    if (chunks.chunks[c].resident) {
      RC_ASSERT(loads[c] == 1);  // after its update
      continue;
    }
    ++streamed;
    layer_loads += loads[c];
    RC_ASSERT(loads[c] >= 1);
    RC_ASSERT(loads[c] <= (holds_block ? 2 : 3) * passes);
  }
  if (holds_block) {
    const int64_t turns = 2 * passes - 1;  // forward to backward, and back to the next forward
    RC_ASSERT(layer_loads >= 2 * passes * streamed - turns * s.plan.buffer_depth);
  }
  const int64_t head_uses = chunks.head.size() == 1 ? 1 : 2;
  const bool also_embeds = chunks.tied && s.plan.embedding_home == EmbeddingHome::kStreamed;
  for (int32_t c = chunks.head.begin; c < chunks.head.end; ++c) {
    if (chunks.chunks[c].resident) continue;
    RC_ASSERT(loads[c] >= 1);
    RC_ASSERT(loads[c] <= (head_uses + (also_embeds ? 1 : 0)) * passes);
  }
}

RC_GTEST_PROP(BuildSchedule, ReferenceLoadsEveryLayerThreeTimesAPass, ()) {
  RandomCase random = *RandomAnyCase();
  RC_PRE(random.plan.strategy == Strategy::kReference);
  const Schedule s = *BuildOrDiscard(random, PassKind::kTrain);
  const std::vector<int64_t> loads = LoadsOf(s);
  for (int32_t c = 0; c < static_cast<int32_t>(loads.size()); ++c) {
    RC_ASSERT(loads[c] == (s.chunks.chunks[c].resident ? 1 : 3 * s.job.accumulation));
  }
}

// An offload baseline loads a layer in forward and again in backward; the ring saves it a load only
// between the recompute of a block and its backward.
RC_GTEST_PROP(BuildSchedule, OffloadBaselinesLoadEveryLayerInBothDirections, ()) {
  const RandomCase random = *RandomAnyCase();
  RC_PRE(IsSimulatedOnly(random.plan.strategy));
  const Schedule s = *BuildOrDiscard(random, PassKind::kTrain);
  const std::vector<int64_t> loads = LoadsOf(s);
  const bool twice = !s.plan.recompute || s.plan.buffer_depth >= s.chunks.LargestRecomputeBlock();
  for (int32_t c = 0; c < static_cast<int32_t>(loads.size()); ++c) {
    if (s.chunks.chunks[c].resident) {
      RC_ASSERT(loads[c] == 1);
      continue;
    }
    RC_ASSERT(loads[c] >= 2 * s.job.accumulation);
    RC_ASSERT(loads[c] <= (twice ? 2 : 3) * s.job.accumulation);
  }
}

// What leaves, what is computed and what is updated does not depend on the plan.
RC_GTEST_PROP(BuildSchedule, WorkAndBytesAreConserved, ()) {
  const RandomCase random = *RandomHorizonCase();
  const Schedule s = *BuildOrDiscard(random, PassKind::kTrain);
  const ParameterBytes each = BytesOfParameter(s.job);
  const bool summed =
      s.plan.accumulation_order == AccumulationOrder::kChunkMajor && s.job.accumulation > 1;
  std::vector<Bytes> left(s.chunks.chunks.size());
  std::vector<int64_t> forwards(s.chunks.chunks.size(), 0);
  std::vector<int64_t> backwards(s.chunks.chunks.size(), 0);
  std::vector<int64_t> updates(s.chunks.chunks.size(), 0);
  for (const Operation& op : s.steady.operations) {
    if (op.kind == OperationKind::kOffloadGradient) left[op.chunk] += op.bytes;
    forwards[std::max(op.chunk, 0)] +=
        op.kind == OperationKind::kForward || op.kind == OperationKind::kRecompute;
    backwards[std::max(op.chunk, 0)] += op.kind == OperationKind::kBackward;
    updates[std::max(op.chunk, 0)] += op.kind == OperationKind::kAdam;
  }
  for (int32_t c = 0; c < static_cast<int32_t>(left.size()); ++c) {
    const uint64_t parameters = s.chunks.chunks[c].parameters;
    RC_ASSERT(updates[c] == 1);
    if (!s.chunks.layers.contains(c)) continue;
    RC_ASSERT(left[c] == (summed ? 4_B : s.job.accumulation * each.gradient) * parameters);
    RC_ASSERT(backwards[c] == s.job.accumulation);
    RC_ASSERT(forwards[c] >= s.job.accumulation);
    RC_ASSERT(forwards[c] <= (s.plan.recompute ? 2 : 1) * s.job.accumulation);
  }
}

// Plans of one job differ in order and memory only: the arithmetic they ask for is the same, but
// for what is computed again where gate and up are not kept.
RC_GTEST_PROP(BuildSchedule, EveryPlanOfAJobHasTheSameBackwardFlops, ()) {
  const RandomCase one = *RandomHorizonCase();
  RandomCase other = *RandomHorizonCase();
  other.spec = one.spec;
  other.job = one.job;
  other.plan.keep_feed_forward = one.plan.keep_feed_forward;
  const auto flops = [](const Schedule& s) {
    uint64_t sum = 0;
    for (const Operation& op : s.steady.operations) {
      if (op.kind == OperationKind::kBackward) sum += op.flops;
    }
    return sum;
  };
  RC_ASSERT(flops(*BuildOrDiscard(one, PassKind::kTrain)) ==
            flops(*BuildOrDiscard(other, PassKind::kTrain)));
}

}  // namespace
}  // namespace horizon
