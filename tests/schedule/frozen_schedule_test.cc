// Schedules of jobs that train a part of the model: what is computed, moved, kept and updated.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "schedule/build/build_schedule.h"
#include "schedule/chunk_table.h"
#include "schedule/lay_out_memory.h"
#include "schedule/verify/verify_schedule.h"
#include "tests/schedule/lane_text.h"
#include "tests/schedule/random_plans.h"

namespace horizon {
namespace {

absl::StatusOr<Schedule> BuildOrDiscard(const RandomCase& random,
                                        PassKind kind = PassKind::kTrain) {
  absl::StatusOr<Schedule> schedule = BuildSchedule(random.spec, random.job, random.plan, kind);
  if (!schedule.ok()) {
    RC_LOG() << schedule.status().ToString();
    RC_ASSERT(schedule.status().code() == absl::StatusCode::kFailedPrecondition);
    RC_DISCARD("impossible plan");
  }
  return schedule;
}

Bytes BytesOf(const MemoryLayout& layout, BufferKind kind) {
  Bytes bytes;
  for (const Buffer& buffer : layout.buffers) bytes += buffer.kind == kind ? buffer.bytes : 0_B;
  return bytes;
}

uint64_t FlopsOf(const Schedule& schedule, OperationKind kind) {
  uint64_t flops = 0;
  for (const Operation& op : schedule.steady.operations) flops += op.kind == kind ? op.flops : 0;
  return flops;
}

// The first stage, from the model's begin, that has a trained tensor.
int32_t LowestTrainedStage(const ChunkTable& chunks) {
  for (size_t s = 0; s < chunks.stages.size(); ++s) {
    for (const TensorSpec& tensor : chunks.stages[s].tensors) {
      if (tensor.trained) return static_cast<int32_t>(s);
    }
  }
  return -1;
}

RC_GTEST_PROP(FrozenSchedule, EveryPassOfEveryStrategyIsVerified, ()) {
  const RandomCase random = *RandomFrozenCase();
  const PassKind kind =
      *rc::gen::element(PassKind::kTrain, PassKind::kTrain, PassKind::kTrain, PassKind::kEvaluate,
                        PassKind::kPrefill, PassKind::kDecode);
  const absl::Status status = VerifySchedule(*BuildOrDiscard(random, kind));
  RC_LOG() << status.ToString();
  RC_ASSERT(status.ok());
}

RC_GTEST_PROP(FrozenSchedule, OnlyTrainedParametersLeaveAndAreUpdated, ()) {
  RandomCase random = *RandomHorizonCase();
  FreezeSome(random);
  const Schedule s = *BuildOrDiscard(random);
  const ParameterBytes each = BytesOfParameter(s.job);
  const bool summed =
      s.plan.accumulation_order == AccumulationOrder::kChunkMajor && s.job.accumulation > 1;
  const size_t count = s.chunks.chunks.size();
  std::vector<Bytes> left(count);
  std::vector<int64_t> backwards(count, 0);
  std::vector<int64_t> recomputes(count, 0);
  std::vector<int64_t> updates(count, 0);
  for (const Operation& op : s.steady.operations) {
    if (op.chunk < 0) continue;
    left[op.chunk] += op.kind == OperationKind::kOffloadGradient ? op.bytes : 0_B;
    backwards[op.chunk] += op.kind == OperationKind::kBackward;
    recomputes[op.chunk] += op.kind == OperationKind::kRecompute;
    updates[op.chunk] += op.kind == OperationKind::kAdam;
  }
  const int32_t lowest = LowestTrainedStage(s.chunks);
  for (int32_t c = 0; c < static_cast<int32_t>(count); ++c) {
    const Chunk& chunk = s.chunks.chunks[c];
    RC_ASSERT(updates[c] == (chunk.trained > 0 ? 1 : 0));
    if (!s.chunks.layers.contains(c)) continue;
    RC_ASSERT(left[c] == (summed ? 4_B : s.job.accumulation * each.gradient) * chunk.trained);
    const bool differentiated = s.chunks.PiecesOf(chunk).front().stage >= lowest;
    RC_ASSERT(backwards[c] == (differentiated ? s.job.accumulation : 0));
    if (!differentiated) RC_ASSERT(recomputes[c] == 0);
  }
}

// 2 bytes of a frozen parameter with bf16 compute, 4 with fp32; of a trained one the whole state.
RC_GTEST_PROP(FrozenSchedule, FrozenParametersKeepWhatComputeReadsAlone, ()) {
  RandomCase random = *RandomHorizonCase();
  FreezeSome(random);
  const Schedule s = *BuildOrDiscard(random);
  uint64_t parameters = 0;
  uint64_t trained = 0;
  Bytes moments;
  for (const Stage& stage : s.chunks.stages) {
    for (const TensorSpec& tensor : stage.tensors) {
      parameters += tensor.parameters;
      trained += tensor.trained ? tensor.parameters : 0;
    }
  }
  for (const Chunk& chunk : s.chunks.chunks) {
    moments += MomentBytes(s.job.state_format, chunk.trained, chunk.moment_blocks);
  }
  RC_ASSERT(s.chunks.trained == trained);
  const ParameterBytes each = BytesOfParameter(s.job);
  const bool fp32 = s.job.compute_type == NumberType::kFp32;
  RC_ASSERT(BytesOf(s.memory, BufferKind::kWeightsHi) == 2_B * parameters);
  RC_ASSERT(BytesOf(s.memory, BufferKind::kWeightsLo) ==
            each.low_half * (fp32 ? parameters : trained));
  RC_ASSERT(BytesOf(s.memory, BufferKind::kMoments) == moments);
  if (s.job.optimizer_place != OptimizerPlace::kInBackward) {
    RC_ASSERT(BytesOf(s.memory, BufferKind::kKeptGradient) == each.kept_gradient * trained);
  }
}

RC_GTEST_PROP(FrozenSchedule, EveryPlanOfAJobHasTheSameBackwardFlops, ()) {
  RandomCase one = *RandomHorizonCase();
  FreezeSome(one);
  RandomCase other = *RandomHorizonCase();
  other.spec = one.spec;
  other.job = one.job;
  other.plan.keep_feed_forward = one.plan.keep_feed_forward;
  const Schedule first = *BuildOrDiscard(one);
  const Schedule second = *BuildOrDiscard(other);
  RC_ASSERT(FlopsOf(first, OperationKind::kBackward) == FlopsOf(second, OperationKind::kBackward));
}

// --- a model small enough to be worked out by hand ---

// Hidden 8, one head, intermediate 16, vocabulary 32, four layers of two stages; a stage of
// attention has 4 x 64 + 8 parameters, one of feed-forward 3 x 128 + 8.
struct Small {
  ModelSpec spec = TinyModel(4);
  TrainingJob job;
  StreamPlan plan;
  Small() {
    job.sequence = 16;
    plan.chunk_bytes = Bytes(CheckedU64(2 * (264 + 392)));  // a layer
    plan.gradient_slabs = 2;
  }
  Schedule Build() const {
    absl::StatusOr<Schedule> schedule = BuildSchedule(spec, job, plan);
    EXPECT_TRUE(schedule.ok()) << schedule.status();
    EXPECT_TRUE(VerifySchedule(*schedule).ok()) << VerifySchedule(*schedule);
    return *std::move(schedule);
  }
};

TEST(FrozenSchedule, NothingBelowTheLowestTrainedTensorIsDifferentiated) {
  Small small;
  small.job.train = {"model.layers.2.mlp.down_proj.weight", "model.layers.3.*"};
  const Schedule s = small.Build();
  // Chunks: embedding 0; layers 0 and 1; attention 2; feed-forward 2; layer 3 with the final norm;
  // head 6.
  EXPECT_EQ(s.chunks.first_differentiated_group, 3);
  EXPECT_EQ(LaneText(s.steady, Lane::kCompute),
            "forward 1, forward 2, forward 3, forward 4, forward 5, loss 6, backward 5, "
            "recompute 4, backward 4");
  EXPECT_EQ(LaneText(s.steady, Lane::kOptimizer), "adam 4, adam 5");
  EXPECT_EQ(s.chunks.chunks[4].trained, 128u);
  EXPECT_EQ(s.chunks.chunks[6].trained, 0u);
  EXPECT_EQ(BytesOf(s.memory, BufferKind::kHeadGradient), 0_B);
  EXPECT_EQ(BytesOf(s.memory, BufferKind::kRowGradients), 0_B);
}

TEST(FrozenSchedule, ATrainedHeadAloneNeedsNoBackward) {
  Small small;
  small.job.train = {"lm_head.weight"};
  const Schedule s = small.Build();
  EXPECT_EQ(LaneText(s.steady, Lane::kCompute),
            "forward 1, forward 2, forward 3, forward 4, loss 5, head_gradient 5");
  EXPECT_EQ(BytesOf(s.memory, BufferKind::kResidualGradient), 0_B);
  EXPECT_EQ(BytesOf(s.memory, BufferKind::kActivations), 0_B);
  EXPECT_EQ(BytesOf(s.memory, BufferKind::kAnchor), 0_B);
}

TEST(FrozenSchedule, AFinalNormAloneIsAChunkGroupOfItsOwn) {
  Small small;
  small.job.train = {"model.norm.weight"};
  const Schedule s = small.Build();
  EXPECT_EQ(s.chunks.NameOf(5), "final_norm");
  EXPECT_EQ(LaneText(s.steady, Lane::kCompute),
            "forward 1, forward 2, forward 3, forward 4, forward 5, loss 6, backward 5");
}

TEST(FrozenSchedule, TrainedEmbeddingsDifferentiateEverything) {
  Small small;
  small.job.train = {"model.embed_tokens.weight"};
  const Schedule s = small.Build();
  EXPECT_EQ(s.chunks.first_differentiated_group, 0);
  const Small all;
  // The input gradients of all multiplies stay, the weight gradients go.
  EXPECT_LT(FlopsOf(s, OperationKind::kBackward), FlopsOf(all.Build(), OperationKind::kBackward));
  EXPECT_EQ(LaneText(s.steady, Lane::kOptimizer), "adam 0");
}

// q, k, v, o of 8 x 8 and gate, up, down of 8 x 16 over 16 tokens; attention 4 flops a visible pair
// and channel forward.
TEST(FrozenSchedule, FlopsOfBackwardAreThoseOfTheGradientsThatAreWanted) {
  const uint64_t square = 2 * 16 * 8 * 8;
  const uint64_t wide = 2 * 16 * 8 * 16;
  const uint64_t attention = (16 * 17 / 2) * 8 * 4 / 2 * 5;
  const auto flops = [](std::vector<std::string> train) {
    Small small;
    small.job.train = std::move(train);
    return FlopsOf(small.Build(), OperationKind::kBackward);
  };
  EXPECT_EQ(flops({"model.layers.3.mlp.down_proj.weight"}), wide);
  EXPECT_EQ(flops({"model.layers.3.mlp.gate_proj.weight"}), 2 * wide);
  EXPECT_EQ(flops({"model.layers.3.mlp.gate_proj.weight", "model.layers.3.mlp.up_proj.weight"}),
            3 * wide);
  // The norm needs the input gradients of all three.
  EXPECT_EQ(flops({"model.layers.3.post_attention_layernorm.weight"}), 3 * wide);
  EXPECT_EQ(flops({"model.layers.3.self_attn.o_proj.weight"}), 3 * wide + square);
  EXPECT_EQ(flops({"model.layers.3.self_attn.v_proj.weight"}), 3 * wide + 2 * square + attention);
  EXPECT_EQ(flops({"model.layers.3.input_layernorm.weight"}), 3 * wide + 4 * square + attention);
  EXPECT_EQ(flops({"model.layers.3.*"}), 6 * wide + 4 * square + 3 * square + attention + square);
}

TEST(FrozenSchedule, AFrozenResidentChunkCrossesOnce) {
  Small small;
  small.job.freeze = {"lm_head.weight"};
  small.plan.resident_chunks = 2;  // the head, then the last layer
  const Schedule s = small.Build();
  const auto loads = [&](const Phase& phase, int32_t chunk) {
    return std::count_if(phase.operations.begin(), phase.operations.end(),
                         [&](const Operation& op) {
                           return op.kind == OperationKind::kLoadChunk && op.chunk == chunk;
                         });
  };
  EXPECT_EQ(loads(s.first, 5), 1);
  EXPECT_EQ(loads(s.steady, 5), 0);
  EXPECT_EQ(loads(s.steady, 4), 1);  // trained, so it has changed
}

TEST(FrozenSchedule, PatternsThatMatchNothingAreRefusedWithTheNearestName) {
  Small small;
  small.job.freeze = {"model.embed_token.weight"};
  const absl::Status status = BuildSchedule(small.spec, small.job, small.plan).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(status.message()).find("\"model.embed_tokens.weight\""), std::string::npos)
      << status;
}

}  // namespace
}  // namespace horizon
