// Schedules small enough to follow by hand.
#include "schedule/build/build_schedule.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "common/text/str_cat.h"
#include "schedule/lay_out_memory.h"
#include "schedule/schedule_report.h"
#include "schedule/verify/verify_schedule.h"
#include "tests/schedule/lane_text.h"
#include "tests/schedule/random_plans.h"

namespace horizon {
namespace {

Schedule Build(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan,
               PassKind kind = PassKind::kTrain) {
  absl::StatusOr<Schedule> schedule = BuildSchedule(spec, job, plan, kind);
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  EXPECT_TRUE(VerifySchedule(*schedule).ok()) << VerifySchedule(*schedule);
  return *std::move(schedule);
}

TrainingJob ShortJob() {
  TrainingJob job;
  job.sequence = 4;
  return job;
}

// Three layers, each a chunk (1..3), embedding 0 on the host, head 4 whole; two slots. Forward
// loads 1, 2, 3 into slots 0, 1, 0 and the head into slot 1; at the turn chunk 3 is still there.
// Its activations were kept, so backward begins with it; 2 and 1 are recomputed and loaded once.
TEST(BuildSchedule, AStepOfThreeLayersByHand) {
  const Schedule s = Build(TinyModel(3), ShortJob(), StreamPlan{});
  EXPECT_EQ(LaneText(s.first, Lane::kH2d),
            "load_tokens, load_rows, load_chunk 1, load_chunk 2, load_chunk 3, load_chunk 4, "
            "load_chunk 2, load_chunk 1");
  EXPECT_EQ(LaneText(s.first, Lane::kCompute),
            "forward 1, forward 2, forward 3, loss 4, head_gradient 4, backward 3, recompute 2, "
            "backward 2, recompute 1, backward 1");
  EXPECT_EQ(LaneText(s.first, Lane::kD2h),
            "offload_loss, offload_gradient 4, offload_gradient 3, offload_gradient 2, "
            "offload_gradient 1, offload_rows");
  EXPECT_EQ(LaneText(s.first, Lane::kHost),
            "next_batch, gather, accumulate 4, norm 4, accumulate 3, norm 3, accumulate 2, norm 2, "
            "accumulate 1, norm 1, scatter 0, norm 0, clip_factor");
  EXPECT_EQ(LaneText(s.first, Lane::kOptimizer), "");
  // The update of a step runs behind the forward of the next, or when training ends.
  EXPECT_EQ(LaneText(s.steady, Lane::kOptimizer), "adam 0, adam 1, adam 2, adam 3, adam 4");
  EXPECT_EQ(LaneText(s.drain, Lane::kOptimizer), "adam 0, adam 1, adam 2, adam 3, adam 4");
  EXPECT_EQ(LaneText(s.steady, Lane::kCompute), LaneText(s.first, Lane::kCompute));
}

// The first Adam waits for the clip factor of the step before; a load waits for the Adam of its
// chunk and (where the slot was used) for its last reader, and for nothing else.
TEST(BuildSchedule, ALoadWaitsForItsAdamAndItsSlotOnly) {
  const Schedule s = Build(TinyModel(3), ShortJob(), StreamPlan{});
  const Phase& steady = s.steady;
  const Operation& adam = steady.operations[0];
  ASSERT_EQ(adam.kind, OperationKind::kAdam);
  ASSERT_EQ(steady.WaitsOf(adam).size(), 1u);
  EXPECT_TRUE(steady.WaitsOf(adam)[0].previous_step);
  EXPECT_EQ(s.first.operations[steady.WaitsOf(adam)[0].operation].kind, OperationKind::kClipFactor);
  for (const Operation& op : steady.operations) {
    if (op.kind != OperationKind::kLoadChunk || op.chunk != 3) continue;
    const std::span<const Wait> waits = steady.WaitsOf(op);
    ASSERT_EQ(waits.size(), 2u);
    EXPECT_EQ(steady.operations[waits[0].operation].kind, OperationKind::kForward);
    EXPECT_EQ(steady.operations[waits[0].operation].chunk, 1);
    EXPECT_EQ(steady.operations[waits[1].operation].kind, OperationKind::kAdam);
    EXPECT_EQ(steady.operations[waits[1].operation].chunk, 3);
    return;
  }
  FAIL() << "chunk 3 is never loaded";
}

// Layers 1..5 and a head through three slots. Forward loads 1..5 and the head ahead of compute; the
// turn keeps 5 and one more; the others are loaded again, each only when all compute before has
// ended. The first load of a step waits for no compute of its own step either way.
TEST(BuildSchedule, WithoutPrefetchInBackwardALoadWaitsForTheComputeBeforeIt) {
  const auto count = [](const Schedule& s, bool backward) {
    int early = 0;
    int all = 0;
    bool turned = false;
    OperationId computed = -1;
    for (size_t i = 0; i < s.steady.operations.size(); ++i) {
      const Operation& op = s.steady.operations[i];
      turned |= op.kind == OperationKind::kHeadGradient;
      if (op.lane == Lane::kCompute) computed = static_cast<OperationId>(i);
      if (op.kind != OperationKind::kLoadChunk || turned != backward) continue;
      ++all;
      bool waits = false;
      for (const Wait& wait : s.steady.WaitsOf(op)) {
        waits |= !wait.previous_step && wait.operation == computed;
      }
      early += waits ? 0 : 1;
    }
    return std::pair(early, all);
  };
  StreamPlan plan{.buffer_depth = 3};
  const Schedule ahead = Build(TinyModel(5), ShortJob(), plan);
  plan.backward_prefetch = false;
  const Schedule late = Build(TinyModel(5), ShortJob(), plan);
  EXPECT_EQ(LaneText(late.steady, Lane::kH2d), LaneText(ahead.steady, Lane::kH2d));
  EXPECT_EQ(LaneText(late.steady, Lane::kCompute), LaneText(ahead.steady, Lane::kCompute));
  EXPECT_EQ(late.memory.totals, ahead.memory.totals);
  EXPECT_EQ(count(ahead, false), std::pair(6, 6));
  EXPECT_EQ(count(late, false), std::pair(6, 6));
  EXPECT_EQ(count(ahead, true), std::pair(3, 3));
  EXPECT_EQ(count(late, true), std::pair(0, 3));
}

TEST(BuildSchedule, InBackwardUpdatesEachChunkAsItsGradientArrives) {
  TrainingJob job = ShortJob();
  job.optimizer_place = OptimizerPlace::kInBackward;
  job.clip_norm = 0;
  const Schedule s = Build(TinyModel(3), job, StreamPlan{});
  EXPECT_EQ(LaneText(s.first, Lane::kOptimizer), "adam 4, adam 3, adam 2, adam 1, adam 0");
  EXPECT_TRUE(s.drain.operations.empty());
  EXPECT_FALSE(s.notes.empty());
}

TEST(BuildSchedule, AfterStepUpdatesOnceAllGradientsAreThere) {
  TrainingJob job = ShortJob();
  job.optimizer_place = OptimizerPlace::kAfterStep;
  const Schedule s = Build(TinyModel(2), job, StreamPlan{});
  EXPECT_EQ(LaneText(s.first, Lane::kOptimizer), "adam 0, adam 1, adam 2, adam 3");
  EXPECT_TRUE(s.drain.operations.empty());
}

// Nothing of a step begins before all that the one before updates: everything waits for its batch.
TEST(BuildSchedule, AfterStepTheNextStepAwaitsTheLastUpdate) {
  TrainingJob job = ShortJob();
  job.optimizer_place = OptimizerPlace::kAfterStep;
  const Schedule s = Build(TinyModel(2), job, StreamPlan{});
  const Operation& batch = s.steady.operations.front();
  ASSERT_EQ(batch.kind, OperationKind::kNextBatch);
  int awaited = 0;
  for (const Wait& wait : s.steady.WaitsOf(batch)) {
    if (!wait.previous_step) continue;
    const Operation& before = s.steady.operations[s.steady.body_begin + wait.operation];
    if (before.kind != OperationKind::kAdam) continue;
    ++awaited;
    EXPECT_EQ(before.chunk, 3);
  }
  EXPECT_EQ(awaited, 1);
}

// Chunk-major: both micro-batches pass a chunk while it is loaded; its gradient leaves once.
TEST(BuildSchedule, ChunkMajorLoadsEachChunkForAllMicroBatches) {
  TrainingJob job = ShortJob();
  job.accumulation = 2;
  StreamPlan plan;
  plan.accumulation_order = AccumulationOrder::kChunkMajor;
  const Schedule s = Build(TinyModel(2), job, plan);
  EXPECT_EQ(LaneText(s.first, Lane::kCompute),
            "forward 1, forward 1 mb1, forward 2, forward 2 mb1, loss 3, head_gradient 3, "
            "loss 3 mb1, head_gradient 3 mb1, recompute 2, backward 2, recompute 2 mb1, "
            "backward 2 mb1, recompute 1, backward 1, recompute 1 mb1, backward 1 mb1");
  EXPECT_EQ(LaneText(s.first, Lane::kH2d),
            "load_tokens, load_tokens mb1, load_rows, load_rows mb1, load_chunk 1, load_chunk 2, "
            "load_chunk 3, load_chunk 1");
  EXPECT_EQ(LaneText(s.first, Lane::kD2h),
            "offload_loss, offload_loss mb1, offload_gradient 3 mb1, offload_gradient 2 mb1, "
            "offload_gradient 1 mb1, offload_rows, offload_rows mb1");
}

// 2 * (8 * 256 + 8) bytes hold one matrix of the feed-forward part.
ModelSpec WideModel() {
  ModelSpec spec = TinyModel(1);
  spec.intermediate = 256;
  return spec;
}
constexpr uint64_t kOneMatrix = uint64_t{2} * 2056;

// Shards hand on what they made in the workspace, so a micro-batch passes all of them before the
// next one starts: ascending in forward, descending in backward.
TEST(BuildSchedule, AMicroBatchPassesTheShardsOfAStageOneAfterAnother) {
  TrainingJob job = ShortJob();
  job.accumulation = 2;
  StreamPlan plan;
  plan.accumulation_order = AccumulationOrder::kChunkMajor;
  plan.recompute = false;
  plan.buffer_depth = 3;
  plan.chunk_bytes = Bytes(CheckedU64(kOneMatrix));
  const Schedule s = Build(WideModel(), job, plan);
  ASSERT_EQ(s.chunks.groups[1], (IndexRange{2, 5}));
  EXPECT_EQ(LaneText(s.first, Lane::kCompute),
            "forward 1, forward 1 mb1, forward 2, forward 3, forward 4, forward 2 mb1, "
            "forward 3 mb1, forward 4 mb1, forward 5, forward 5 mb1, loss 6, head_gradient 6, "
            "loss 6 mb1, head_gradient 6 mb1, backward 5, backward 5 mb1, backward 4, backward 3, "
            "backward 2, backward 4 mb1, backward 3 mb1, backward 2 mb1, backward 1, "
            "backward 1 mb1");
  plan.buffer_depth = 2;
  EXPECT_EQ(BuildSchedule(WideModel(), job, plan).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

// What an operation does to the buffers of a kind: "w" or "rw" with the shards that had been done.
std::string UsesOf(const Schedule& s, const Operation& op, BufferKind kind) {
  std::string uses;
  for (const Access& access : s.first.AccessesOf(op)) {
    if (s.memory.buffers[access.buffer].kind != kind) continue;
    uses += StrCat(uses.empty() ? "" : " ", access.mode == AccessMode::kRead ? "r" : "w",
                   access.content.n);
  }
  return uses;
}

TEST(BuildSchedule, WhatCrossesShardsIsDeclared) {
  StreamPlan plan;
  plan.chunk_bytes = Bytes(CheckedU64(kOneMatrix));
  const Schedule s = Build(WideModel(), ShortJob(), plan);
  std::string seen;
  for (const Operation& op : s.first.operations) {
    const bool layer = op.kind == OperationKind::kForward || op.kind == OperationKind::kBackward;
    if (!layer || s.chunks.chunks[op.chunk].shards == 1) continue;
    seen += StrCat(ToString(op.kind), " ", op.chunk, ": workspace ",
                   UsesOf(s, op, BufferKind::kWorkspace), ", activations ",
                   UsesOf(s, op, BufferKind::kActivations), "\n");
  }
  EXPECT_EQ(seen,
            "forward 2: workspace w1, activations w1\n"
            "forward 3: workspace r1 w2, activations r1 w2\n"
            "forward 4: workspace r2 w3, activations r2 w3\n"
            "backward 4: workspace w1, activations r3\n"
            "backward 3: workspace r1 w2, activations r3\n"
            "backward 2: workspace r2 w3, activations r3\n");
}

TEST(BuildSchedule, AShardedHeadIsPassedTwiceAndItsShardsAscend) {
  ModelSpec spec = TinyModel(1);
  spec.vocab = 1024;  // two tiles of 512 rows, 8 KiB each
  StreamPlan plan;
  plan.chunk_bytes = 8_KiB;
  plan.buffer_depth = 1;
  const Schedule s = Build(spec, ShortJob(), plan);
  EXPECT_EQ(LaneText(s.first, Lane::kCompute),
            "forward 2, log_sum_exp 3, log_sum_exp 4, loss 3, head_gradient 3, loss 4, "
            "head_gradient 4, backward 2");
  EXPECT_EQ(CountTraffic(s).head.loads, 4);
}

TEST(BuildSchedule, ResidentMovesNothingButTokensLossesAndNorms) {
  StreamPlan plan;
  plan.strategy = Strategy::kResident;
  plan.embedding_home = EmbeddingHome::kDevice;
  plan.recompute = false;
  const Schedule s = Build(TinyModel(2), ShortJob(), plan);
  EXPECT_EQ(LaneText(s.first, Lane::kH2d), "load_tokens");
  EXPECT_EQ(LaneText(s.first, Lane::kD2h),
            "offload_loss, offload_norms 3, offload_norms 2, offload_norms 1, offload_norms 0");
  EXPECT_EQ(LaneText(s.first, Lane::kOptimizer), "");
  EXPECT_EQ(LaneText(s.first, Lane::kHost), "next_batch, clip_factor");
  EXPECT_EQ(s.memory.totals[static_cast<size_t>(Memory::kHost)], kClipFactorBytes);
}

TEST(BuildSchedule, AnUpdateOnACudaDeviceIsLookedAtBehindIt) {
  StreamPlan plan;
  plan.strategy = Strategy::kResident;
  plan.embedding_home = EmbeddingHome::kDevice;
  plan.recompute = false;
  TrainingJob job = ShortJob();
  job.device = DeviceKind::kCuda;
  job.activation_type = NumberType::kBf16;
  const Schedule s = Build(TinyModel(1), job, plan);
  EXPECT_EQ(LaneText(s.first, Lane::kHost),
            "next_batch, clip_factor, check_update 0, check_update 1, check_update 2");
}

TEST(BuildSchedule, ResidentChunksCrossOnceAStepToFollowTheirUpdate) {
  TrainingJob job = ShortJob();
  job.accumulation = 3;
  StreamPlan plan;
  plan.resident_chunks = 2;  // the head and the last layer
  const Schedule s = Build(TinyModel(4), job, plan);
  const LinkTraffic traffic = CountTraffic(s);
  EXPECT_EQ(traffic.resident.chunks, 2);
  EXPECT_EQ(traffic.resident.loads, 2);
  EXPECT_EQ(traffic.head.chunks, 0);
}

TEST(BuildSchedule, EvaluationLoadsResidentChunksOnceForAllBatches) {
  StreamPlan plan;
  plan.resident_chunks = 1;
  const Schedule s = Build(TinyModel(2), ShortJob(), plan, PassKind::kEvaluate);
  EXPECT_EQ(LaneText(s.first, Lane::kH2d),
            "load_chunk 3, load_tokens, load_rows, load_chunk 1, load_chunk 2");
  EXPECT_EQ(LaneText(s.steady, Lane::kH2d), "load_tokens, load_rows, load_chunk 1, load_chunk 2");
  EXPECT_EQ(LaneText(s.first, Lane::kCompute), "forward 1, forward 2, log_sum_exp 3");
}

TEST(BuildSchedule, DecodeUsesTheCacheThatPrefillFilled) {
  const Schedule prefill = Build(TinyModel(2), ShortJob(), StreamPlan{}, PassKind::kPrefill);
  const Schedule decode = Build(TinyModel(2), ShortJob(), StreamPlan{}, PassKind::kDecode);
  const auto cache_bytes = [](const Schedule& s) {
    uint64_t bytes = 0;
    for (const Buffer& buffer : s.memory.buffers) {
      if (buffer.kind == BufferKind::kKvCache) bytes += buffer.bytes.value();
    }
    return bytes;
  };
  // 2 layers x (key + value) x 4 positions x 1 head of 8 x 4 bytes.
  EXPECT_EQ(cache_bytes(prefill), 2u * 2 * 4 * 8 * 4);
  EXPECT_EQ(cache_bytes(decode), cache_bytes(prefill));
  EXPECT_EQ(LaneText(decode.first, Lane::kCompute), "forward 1, forward 2, logits 3");
}

TEST(BuildSchedule, RefusesChunkMajorWhenTheRingCannotHoldABlock) {
  TrainingJob job = ShortJob();
  job.accumulation = 2;
  StreamPlan plan;
  plan.accumulation_order = AccumulationOrder::kChunkMajor;
  plan.anchor_interval = 4;
  plan.chunk_bytes = Bytes(CheckedU64(1400));
  const absl::Status status = BuildSchedule(TinyModel(4), job, plan).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(std::string(status.message()).find("buffer_depth is 2"), std::string::npos) << status;
}

TEST(BuildSchedule, SaysWhenWeightsCrossThreeTimes) {
  StreamPlan plan;
  plan.anchor_interval = 4;
  plan.chunk_bytes = Bytes(CheckedU64(1400));
  const Schedule s = Build(TinyModel(8), ShortJob(), plan);
  ASSERT_EQ(s.notes.size(), 1u);
  EXPECT_NE(s.notes[0].find("three times"), std::string::npos) << s.notes[0];
}

// The same ring and blocks, but nothing of the layers is streamed.
TEST(BuildSchedule, SaysNothingOfARingThatNothingCrosses) {
  StreamPlan plan;
  plan.anchor_interval = 4;
  plan.chunk_bytes = Bytes(CheckedU64(1400));
  plan.resident_chunks = 1000;
  plan.embedding_home = EmbeddingHome::kStreamed;
  plan.buffer_depth = 1;
  const Schedule s = Build(TinyModel(8), ShortJob(), plan);
  EXPECT_TRUE(s.notes.empty()) << s.notes.front();
}

// Every note about loads is what the loads of a step say.
TEST(BuildSchedule, NotesCountTheLoadsOfAStep) {
  for (const int64_t resident : {0, 3, 9, 15}) {
    for (const int64_t depth : {1, 2, 3, 8}) {
      for (const int64_t interval : {1, 2, 4}) {
        StreamPlan plan;
        plan.anchor_interval = interval;
        plan.chunk_bytes = Bytes(CheckedU64(1400));
        plan.resident_chunks = resident;
        plan.buffer_depth = depth;
        const Schedule s = Build(TinyModel(8), ShortJob(), plan);
        std::map<int32_t, int> loads;
        for (const Operation& op : s.steady.operations) {
          const bool layer =
              op.kind == OperationKind::kLoadChunk && s.chunks.layers.contains(op.chunk);
          if (layer) ++loads[op.chunk];
        }
        int often = 0;
        for (const auto& [chunk, times] : loads) often += times > 2 ? 1 : 0;
        bool told = false;
        for (const std::string& note : s.notes) {
          if (note.find("three times") == std::string::npos) continue;
          told = true;
          EXPECT_NE(note.find(StrCat(": ", often, " of ")), std::string::npos) << note;
        }
        EXPECT_EQ(told, often > 0) << WritePlan(plan);
      }
    }
  }
}

}  // namespace
}  // namespace horizon
