// A stage that is cut between its matrices gives the bits of the whole one: in training under every
// plan, state format and order, in evaluation, and when a run goes on under another cut.
#include <functional>
#include <string>
#include <vector>

#include "common/text/str_cat.h"
#include "gtest/gtest.h"
#include "model/stages.h"
#include "schedule/chunk_table.h"
#include "tests/runtime/support/block_models.h"
#include "tests/runtime/support/small_training.h"
#include "tests/runtime/support/training_case.h"

namespace horizon {
namespace {

constexpr int64_t kSteps = 6;

// Attention in four shards and feed-forward in three under the smallest chunks; no size is a power
// of two.
ModelSpec Model() {
  ModelSpec spec;
  spec.name = "sharded";
  spec.hidden = 36;
  spec.intermediate = 70;
  spec.heads = spec.kv_heads = 6;
  spec.head_dim = 10;
  spec.vocab = 70;
  spec.max_positions = 256;
  spec.layers.resize(3);
  return spec;
}

// Keys and values are small: q | k and v | o.
ModelSpec GroupedHeads() {
  ModelSpec spec = Model();
  spec.kv_heads = 2;
  spec.layers[1].sliding_window = 9;
  return spec;
}

ModelSpec BiasesNormsAndATiedTable() {
  ModelSpec spec = Model();
  spec.family = "qwen3";
  spec.qkv_bias = spec.output_bias = spec.mlp_bias = true;
  spec.qk_norm = QkNorm::kPerHead;
  spec.tied = true;
  return spec;
}

// Three tiles of vocabulary, so that the head is in shards too.
ModelSpec LargeVocabulary() {
  ModelSpec spec = Model();
  spec.vocab = 1100;
  spec.intermediate = 450;
  return spec;
}

TrainingJob Job() {
  TrainingJob job;
  job.sequence = 75;
  job.micro_batch = 2;  // 150 tokens: two loss tiles
  job.learning_rate = 3e-3;
  job.compute_type = NumberType::kFp32;
  job.gradient_type = NumberType::kFp32;
  return job;
}

struct Variant {
  std::string name;
  StreamPlan plan;
};

// Every cut of the larger stage there is, and the smallest chunks with everything else a plan has.
std::vector<Variant> Variants(const ModelSpec& spec, const TrainingJob& job) {
  const std::vector<Stage> stages = ListStages(spec);
  const uint64_t link = BytesOfParameter(job).link.value();
  const Bytes least = LeastChunkBytes(stages, job);
  std::vector<Variant> variants;
  const auto add = [&](std::string name, Bytes chunk,
                       const std::function<void(StreamPlan&)>& change) {
    StreamPlan plan;
    plan.chunk_bytes = std::max(least, chunk);
    change(plan);
    variants.push_back({std::move(name), plan});
  };
  for (const size_t stage : {1, 2}) {
    for (int64_t shards = 2; shards <= stages[stage].units; ++shards) {
      const Bytes chunk(CheckedU64(LargestOfShards(stages[stage], shards)) * link);
      add(StrCat(stages[stage].name, " in ", shards), chunk, [](StreamPlan&) {});
    }
  }
  for (const int64_t depth : {1, 2, 3, 8}) {
    for (const int64_t interval : {1, 2}) {
      add(StrCat("depth ", depth, ", K ", interval), least, [=](StreamPlan& plan) {
        plan.buffer_depth = depth;
        plan.anchor_interval = interval;
        plan.anchor_home = depth % 2 == 0 ? AnchorHome::kHost : AnchorHome::kDevice;
        plan.gradient_slabs = depth;
      });
    }
  }
  add("no recompute", least, [](StreamPlan& plan) { plan.recompute = false; });
  add("no prefetch", least, [](StreamPlan& plan) { plan.backward_prefetch = false; });
  add("resident chunks", least, [](StreamPlan& plan) {
    plan.resident_chunks = 6;  // some shards of a stage, not all
    plan.embedding_home = EmbeddingHome::kDevice;
  });
  add("streamed embedding, loss in two chunks, threads", least, [](StreamPlan& plan) {
    plan.embedding_home = EmbeddingHome::kStreamed;
    plan.loss_chunk_tokens = 128;
    plan.compute_threads = plan.host_threads = plan.optimizer_threads = 2;
  });
  for (const bool recompute : {true, false}) {
    if (job.accumulation == 1) break;
    add(StrCat("chunk-major, recompute ", recompute ? "on" : "off"), least, [=](StreamPlan& plan) {
      plan.accumulation_order = AccumulationOrder::kChunkMajor;
      plan.recompute = recompute;
      plan.buffer_depth = 12;  // a layer
    });
  }
  return variants;
}

TrainingCaseOutcome Train(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan) {
  absl::StatusOr<TrainingCaseOutcome> outcome = RunTrainingCase(
      {.spec = spec,
       .job = job,
       .plan = plan,
       .source = RandomSource(spec, 7),
       .batch = [&](int64_t step,
                    int64_t mb) { return RandomTokens(spec, job, 100 * step + mb, 2 + step % 3); },
       .steps = kSteps});
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  return outcome.ok() ? *std::move(outcome) : TrainingCaseOutcome{};
}

int64_t ShardsOf(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan) {
  int64_t shards = 0;
  const absl::StatusOr<ChunkTable> table = CutIntoChunks(spec, job, plan);
  EXPECT_TRUE(table.ok()) << table.status();
  for (const Chunk& chunk : table->chunks) shards += chunk.group >= 0 && chunk.shards > 1;
  return shards;
}

void ExpectShardsGiveTheBitsOfTheWhole(const ModelSpec& spec, const TrainingJob& job) {
  const TrainingCaseOutcome wanted = Train(spec, job, ResidentPlan());
  ASSERT_EQ(static_cast<int64_t>(wanted.steps.size()), kSteps);
  EXPECT_NE(wanted.steps.front().loss, wanted.steps.back().loss);
  ExpectEqualRuns(Train(spec, job, StreamPlan{}), wanted);
  for (const Variant& variant : Variants(spec, job)) {
    SCOPED_TRACE(variant.name);
    EXPECT_GT(ShardsOf(spec, job, variant.plan), 0);
    ExpectEqualRuns(Train(spec, job, variant.plan), wanted);
  }
}

TEST(ShardedTraining, GivesTheBitsOfTheWhole) {
  EXPECT_EQ(ShardsOf(Model(), Job(), ShardedPlan(Model(), Job())), 3 * (4 + 3));
  ExpectShardsGiveTheBitsOfTheWhole(Model(), Job());
}

TEST(ShardedTraining, AlsoOfEveryOtherBlock) {
  for (const BlockModel& model : BlockModels()) {
    SCOPED_TRACE(model.name);
    ExpectShardsGiveTheBitsOfTheWhole(model.spec, Job());
    TrainingJob rounded = Job();
    rounded.accumulation = 2;
    rounded.compute_type = NumberType::kBf16;
    rounded.gradient_type = NumberType::kBf16;
    ExpectShardsGiveTheBitsOfTheWhole(model.spec, rounded);
  }
}

TEST(ShardedTraining, AlsoWithGroupedHeadsAndAWindow) {
  ExpectShardsGiveTheBitsOfTheWhole(GroupedHeads(), Job());
}

TEST(ShardedTraining, AlsoWithBiasesHeadNormsATiedTableAndRoundedGradients) {
  TrainingJob job = Job();
  job.compute_type = NumberType::kBf16;
  job.gradient_type = NumberType::kBf16;
  ExpectShardsGiveTheBitsOfTheWhole(BiasesNormsAndATiedTable(), job);
}

TEST(ShardedTraining, AlsoWithAHeadInShards) {
  TrainingJob job = Job();
  job.gradient_type = NumberType::kBf16;
  ExpectShardsGiveTheBitsOfTheWhole(LargeVocabulary(), job);
}

TEST(ShardedTraining, AlsoWithThreeMicroBatchesInBothOrders) {
  TrainingJob job = Job();
  job.accumulation = 3;
  ExpectShardsGiveTheBitsOfTheWhole(Model(), job);
}

TEST(ShardedTraining, AlsoWithThreeMicroBatchesOfRoundedGradientsAndATiedTable) {
  TrainingJob job = Job();
  job.accumulation = 3;
  job.compute_type = NumberType::kBf16;
  job.gradient_type = NumberType::kBf16;
  ExpectShardsGiveTheBitsOfTheWhole(BiasesNormsAndATiedTable(), job);
}

TEST(ShardedTraining, AlsoInEveryStateFormat) {
  for (const StateFormat format :
       {StateFormat::kBf16Moments, StateFormat::k8BitMoments, StateFormat::kBf16Weights}) {
    SCOPED_TRACE(std::string(ToString(format)));
    TrainingJob job = Job();
    job.compute_type = NumberType::kBf16;
    job.state_format = format;
    ExpectShardsGiveTheBitsOfTheWhole(GroupedHeads(), job);
  }
}

TEST(ShardedTraining, AlsoWithTheOptimizerInBackwardAndAfterTheStep) {
  TrainingJob job = Job();
  job.optimizer_place = OptimizerPlace::kInBackward;
  job.clip_norm = 0;
  ExpectShardsGiveTheBitsOfTheWhole(Model(), job);
  job.optimizer_place = OptimizerPlace::kAfterStep;
  ExpectShardsGiveTheBitsOfTheWhole(Model(), job);
}

}  // namespace
}  // namespace horizon
