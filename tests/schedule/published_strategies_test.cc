// The strategies that follow other systems, by hand: the published one and the offload baselines.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/text/str_cat.h"
#include "schedule/build/build_schedule.h"
#include "schedule/offload_baselines.h"
#include "schedule/timeline/timeline.h"
#include "schedule/verify/verify_schedule.h"
#include "tests/schedule/lane_text.h"
#include "tests/schedule/random_plans.h"

namespace horizon {
namespace {

TrainingJob ShortJob() {
  TrainingJob job;
  job.sequence = 4;
  job.optimizer_place = OptimizerPlace::kAfterStep;
  return job;
}

StreamPlan PlanOf(Strategy strategy) {
  StreamPlan plan;
  plan.strategy = strategy;
  plan.embedding_home = EmbeddingHome::kDevice;
  return plan;
}

Schedule Build(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan,
               PassKind kind = PassKind::kTrain) {
  absl::StatusOr<Schedule> schedule = BuildSchedule(spec, job, plan, kind);
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  EXPECT_TRUE(VerifySchedule(*schedule).ok()) << VerifySchedule(*schedule);
  return *std::move(schedule);
}

Schedule Build(int64_t layers, const StreamPlan& plan) {
  return Build(TinyModel(layers), ShortJob(), plan);
}

std::vector<Strategy> Baselines() {
  std::vector<Strategy> strategies;
  for (const OffloadBaseline& baseline : kOffloadBaselines) {
    strategies.push_back(baseline.strategy);
  }
  return strategies;
}

// Each operation of a step with its start and end, lanes as eager as waits allow.
struct Timed {
  const Operation* op;
  int64_t start;
  int64_t end;
};
std::vector<Timed> RunFirst(const Schedule& s,
                            const std::function<int64_t(const Operation&)>& duration) {
  std::vector<Timed> times(s.first.operations.size());
  for (const TimelineEntry& entry : EarliestTimeline(s, {StepKind::kFirst}, duration).entries) {
    times[entry.operation] = {&s.first.operations[entry.operation], entry.start_ns, entry.end_ns};
  }
  return times;
}

// What may hide behind compute does when compute takes long; counts the operations of `kind` that
// start before the compute operation standing before them has ended, and all of them.
struct Overlap {
  int hidden = 0;
  int all = 0;
};
Overlap OverlapWithCompute(const Schedule& s, OperationKind kind) {
  Overlap overlap;
  int64_t computed = 0;
  for (const Timed& timed :
       RunFirst(s, [](const Operation& op) { return op.lane == Lane::kCompute ? 100 : 1; })) {
    if (timed.op->lane == Lane::kCompute) computed = timed.end;
    if (timed.op->kind != kind) continue;
    ++overlap.all;
    overlap.hidden += timed.start < computed ? 1 : 0;
  }
  return overlap;
}

// Compute operations that start before the gradient of a layer standing before them has been
// accumulated, when that takes long.
int ComputedBeforeAccumulated(const Schedule& s) {
  int early = 0;
  int64_t accumulated = 0;
  for (const Timed& timed : RunFirst(s, [](const Operation& op) {
         return op.kind == OperationKind::kAccumulate ? 100 : 1;
       })) {
    if (timed.op->kind == OperationKind::kAccumulate && s.chunks.layers.contains(timed.op->chunk)) {
      accumulated = timed.end;
    }
    early += timed.op->lane == Lane::kCompute && timed.start < accumulated ? 1 : 0;
  }
  return early;
}

// --- reference ---

// Every layer is forwarded three times and loaded three times, whatever K is. Gradients have a
// worker of their own: the lane that packs does nothing else but fetch batches.
TEST(Reference, FollowsThePublishedSystem) {
  StreamPlan plan = PlanOf(Strategy::kReference);
  plan.anchor_interval = 2;
  const Schedule s = Build(2, plan);
  EXPECT_EQ(LaneText(s.first, Lane::kCompute),
            "embed 0, forward 1, forward 2, loss 3, head_gradient 3, recompute 1, recompute 2, "
            "recompute 2, backward 2, recompute 1, backward 1, embed_backward 0");
  EXPECT_EQ(LaneText(s.first, Lane::kH2d),
            "load_tokens, load_chunk 0, load_chunk 1, load_chunk 2, load_chunk 3, load_chunk 1, "
            "load_chunk 2, load_chunk 2, load_chunk 1");
  EXPECT_EQ(LaneText(s.first, Lane::kHost),
            "next_batch, pack 1, pack 2, pack 1, pack 2, pack 2, pack 1");
  EXPECT_EQ(LaneText(s.first, Lane::kOptimizer),
            "accumulate 3, norm 3, accumulate 2, norm 2, accumulate 1, norm 1, accumulate 0, "
            "norm 0, clip_factor, clip_gradient 0, clip_gradient 1, clip_gradient 2, "
            "clip_gradient 3, adam 0, adam 1, adam 2, adam 3");
}

TEST(Reference, SumsATiedTableOnTheLaneOfGradients) {
  ModelSpec spec = TinyModel(1);
  spec.tied = true;
  TrainingJob job = ShortJob();
  job.accumulation = 2;
  const Schedule s = Build(spec, job, PlanOf(Strategy::kReference));
  EXPECT_NE(LaneText(s.first, Lane::kOptimizer).find("tied_sum 0, norm 0, clip_factor"),
            std::string::npos)
      << LaneText(s.first, Lane::kOptimizer);
}

// With two staging buffers a pack waits for its slab and a load for its slot: never for the compute
// operation just before, in forward and in backward. A load waits for the last reader of its slot,
// which is the layer before the previous one.
TEST(Reference, PacksTheNextLayerWhileThisOneIsComputed) {
  const Schedule s = Build(5, PlanOf(Strategy::kReference));
  const Overlap packs = OverlapWithCompute(s, OperationKind::kPack);
  EXPECT_EQ(packs.all, 15);
  EXPECT_EQ(packs.hidden, 15);
  const Overlap loads = OverlapWithCompute(s, OperationKind::kLoadChunk);
  EXPECT_EQ(loads.all, 17);     // the two tables too
  EXPECT_EQ(loads.hidden, 16);  // nothing is computed before the embedding is there
  for (const Phase* phase : {&s.first, &s.steady}) {
    for (const Operation& op : phase->operations) {
      if (op.kind != OperationKind::kPack) continue;
      for (const Wait& wait : phase->WaitsOf(op)) {
        const Operation& awaited = wait.previous_step
                                       ? s.first.operations[s.first.body_begin + wait.operation]
                                       : phase->operations[wait.operation];
        EXPECT_NE(awaited.lane, Lane::kCompute) << s.NameOf(op) << ": " << s.NameOf(awaited);
      }
    }
  }
}

// One buffer: packing itself waits, so a layer's pack, load and compute follow one another and the
// step takes as long as all of them together.
TEST(Reference, WithoutDoubleBufferingEverythingSerialises) {
  StreamPlan plan = PlanOf(Strategy::kReference);
  plan.buffer_depth = 1;
  const Schedule s = Build(5, plan);
  for (const OperationKind kind : {OperationKind::kPack, OperationKind::kLoadChunk}) {
    EXPECT_EQ(OverlapWithCompute(s, kind).hidden, 0) << ToString(kind);
  }
  const auto duration = [](const Operation& op) -> int64_t {
    switch (op.kind) {
      case OperationKind::kPack:
        return 7;
      case OperationKind::kLoadChunk:
        return 5;
      default:
        return op.lane == Lane::kCompute ? 3 : 0;
    }
  };
  int64_t sum = 0;
  int64_t end = 0;
  for (const Timed& timed : RunFirst(s, duration)) {
    sum += duration(*timed.op);
    end = std::max(end, timed.end);
  }
  EXPECT_EQ(end, sum);
}

TEST(Reference, WithOneSlabComputeWaitsForEveryGradientOfALayer) {
  StreamPlan plan = PlanOf(Strategy::kReference);
  plan.gradient_slabs = 2;
  EXPECT_GT(ComputedBeforeAccumulated(Build(5, plan)), 0);
  plan.gradient_slabs = 1;
  const Schedule s = Build(5, plan);
  EXPECT_EQ(ComputedBeforeAccumulated(s), 0);
  // The next compute operation itself waits, not the next backward for its buffer.
  int checked = 0;
  for (size_t i = 0; i < s.first.operations.size(); ++i) {
    if (s.first.operations[i].kind != OperationKind::kAccumulate) continue;
    if (!s.chunks.layers.contains(s.first.operations[i].chunk)) continue;
    size_t next = i;
    while (s.first.operations[next].lane != Lane::kCompute) ++next;
    bool waits = false;
    for (const Wait& wait : s.first.WaitsOf(s.first.operations[next])) {
      waits |= !wait.previous_step && wait.operation == static_cast<OperationId>(i);
    }
    EXPECT_TRUE(waits) << s.NameOf(s.first.operations[next]);
    ++checked;
  }
  EXPECT_EQ(checked, 5);
}

// The gradient of the head leaves through a slab of its own, so it holds nothing up.
TEST(Reference, WithOneSlabTheHeadsGradientStillLeavesBesideCompute) {
  StreamPlan plan = PlanOf(Strategy::kReference);
  plan.gradient_slabs = 1;
  const Schedule s = Build(2, plan);
  int64_t accumulated = 0;
  int64_t recomputed = 0;
  for (const Timed& timed : RunFirst(s, [](const Operation& op) {
         return op.kind == OperationKind::kAccumulate ? 100 : 1;
       })) {
    if (timed.op->kind == OperationKind::kAccumulate && timed.op->chunk == 3) {
      accumulated = timed.end;
    }
    if (timed.op->kind == OperationKind::kRecompute && recomputed == 0) recomputed = timed.start;
  }
  EXPECT_LT(recomputed, accumulated);
}

// --- offload baselines ---

TEST(OffloadBaselines, AStepOfTwoLayersByHand) {
  for (const Strategy strategy : Baselines()) {
    StreamPlan plan = PlanOf(strategy);
    plan.recompute = false;
    const Schedule s = Build(2, plan);
    EXPECT_EQ(LaneText(s.first, Lane::kCompute),
              "embed 0, forward 1, forward 2, loss 3, head_gradient 3, backward 2, backward 1, "
              "embed_backward 0");
    EXPECT_EQ(LaneText(s.first, Lane::kH2d),
              "load_tokens, load_chunk 0, load_chunk 1, load_chunk 2, load_chunk 3, "
              "load_chunk 2, load_chunk 1");
    EXPECT_EQ(LaneText(s.first, Lane::kHost),
              "next_batch, accumulate 3, norm 3, accumulate 2, norm 2, accumulate 1, norm 1, "
              "accumulate 0, norm 0, clip_factor");
    EXPECT_EQ(LaneText(s.first, Lane::kOptimizer), "adam 0, adam 1, adam 2, adam 3");
    EXPECT_TRUE(s.drain.operations.empty());
    EXPECT_TRUE(s.notes.empty());
  }
}

TEST(OffloadBaselines, RecomputeAsOursDoes) {
  const Schedule s = Build(3, PlanOf(Strategy::kZero3Offload));
  EXPECT_EQ(LaneText(s.first, Lane::kCompute),
            "embed 0, forward 1, forward 2, forward 3, loss 4, head_gradient 4, backward 3, "
            "recompute 2, backward 2, recompute 1, backward 1, embed_backward 0");
  EXPECT_EQ(LaneText(s.first, Lane::kH2d),
            "load_tokens, load_chunk 0, load_chunk 1, load_chunk 2, load_chunk 3, load_chunk 4, "
            "load_chunk 3, load_chunk 2, load_chunk 1");
}

TEST(OffloadBaselines, NothingOverlapsWhateverTheDepth) {
  for (const Strategy strategy : Baselines()) {
    for (const int64_t depth : {1, 2}) {
      for (const bool recompute : {true, false}) {
        StreamPlan plan = PlanOf(strategy);
        plan.buffer_depth = depth;
        plan.recompute = recompute;
        plan.gradient_slabs = 4;
        const Schedule s = Build(4, plan);
        const Overlap loads = OverlapWithCompute(s, OperationKind::kLoadChunk);
        EXPECT_EQ(loads.all, 10);
        EXPECT_EQ(loads.hidden, 0) << ToString(strategy) << " depth " << depth;
        EXPECT_EQ(ComputedBeforeAccumulated(s), 0) << ToString(strategy) << " depth " << depth;
      }
    }
  }
}

// The verifier knows these rules by itself: the same operations as `horizon` would order them, with
// every load as early as its buffers allow, are refused.
TEST(OffloadBaselines, AnOverlapIsRefusedWithBothOperations) {
  Schedule s = Build(3, PlanOf(Strategy::kGemini));
  for (Phase* phase : {&s.first, &s.steady}) {
    for (Operation& op : phase->operations) {
      if (op.kind == OperationKind::kLoadChunk && op.chunk == 2) op.waits.end = op.waits.begin;
    }
  }
  const absl::Status status = VerifySchedule(s);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(status.message(),
            "'load chunk attention_1..feed_forward_1' (step 0, h2d lane) may start before 'forward "
            "attention_0..feed_forward_0, micro-batch 0' (step 0, compute lane) has ended, which "
            "this plan of strategy gemini does not let overlap");
}

// What a framework keeps beyond the state, for each parameter, and that all of it is page-locked.
TEST(OffloadBaselines, BytesOfAParameterOnTheHost) {
  TrainingJob job = ShortJob();
  job.gradient_type = NumberType::kFp32;
  const std::map<Strategy, uint64_t> expected = {{Strategy::kZero3Offload, 16 + 2},
                                                 {Strategy::kFsdpOffload, 16 + 10},
                                                 {Strategy::kGemini, 16 + 2}};
  for (const auto& [strategy, bytes] : expected) {
    const Schedule s = Build(TinyModel(3), job, PlanOf(strategy));
    uint64_t sum = 0;
    for (const Buffer& buffer : s.memory.buffers) {
      const bool copy = buffer.kind == BufferKind::kFrameworkCopy;
      const bool state =
          buffer.kind == BufferKind::kWeightsHi || buffer.kind == BufferKind::kWeightsLo ||
          buffer.kind == BufferKind::kMoments || buffer.kind == BufferKind::kKeptGradient;
      EXPECT_TRUE(!copy || buffer.memory == Memory::kPinned);
      EXPECT_TRUE(!state || buffer.memory != Memory::kDevice);
      if (copy || state) sum += buffer.bytes.value();
    }
    EXPECT_EQ(sum, bytes * s.chunks.parameters) << ToString(strategy);
  }
}

TEST(OffloadBaselines, EveryPassIsBuiltAndVerified) {
  for (const Strategy strategy : Baselines()) {
    for (const EnumWord<PassKind>& kind : WordsOf(PassKind{})) {
      for (const bool tied : {false, true}) {
        ModelSpec spec = TinyModel(1);
        spec.tied = tied;
        const Schedule s = Build(spec, ShortJob(), PlanOf(strategy), kind.value);
        EXPECT_FALSE(s.first.operations.empty()) << kind.word;
      }
    }
  }
}

}  // namespace
}  // namespace horizon
