// The plan never changes the numbers: whatever is streamed, when and through which buffers, losses,
// masters and moments have the bits that strategy `resident` gives.
#include <functional>
#include <string>
#include <vector>

#include "common/text/str_cat.h"
#include "gtest/gtest.h"
#include "tests/runtime/support/training_case.h"

namespace horizon {
namespace {

// Three layers, grouped heads, a vocabulary of three tiles, and no size that is a power of two.
ModelSpec SmallModel() {
  ModelSpec spec;
  spec.name = "small";
  spec.hidden = 36;
  spec.intermediate = 200;
  spec.heads = 4;
  spec.kv_heads = 2;
  spec.head_dim = 10;
  spec.vocab = 1100;
  spec.max_positions = 256;
  spec.layers.resize(5);
  return spec;
}

TrainingJob SmallJob() {
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
  std::function<void(StreamPlan&)> change;
};

std::vector<Variant> PlanVariants(const TrainingJob& job) {
  std::vector<Variant> variants;
  const uint64_t link = BytesOfParameter(job).link.value();
  // One stage (4,356 or 21,636 parameters) to a chunk, and the table of 39,600 in shards.
  const Bytes small = Bytes(CheckedU64(22'000 * link));
  // Some stages to a chunk, and the table whole.
  const Bytes middle = Bytes(CheckedU64(50'000 * link));
  const auto add = [&](std::string name, std::function<void(StreamPlan&)> change) {
    variants.push_back({std::move(name), std::move(change)});
  };
  add("as it comes", [](StreamPlan&) {});
  for (const int64_t depth : {1, 2, 3}) {
    for (const int64_t interval : {1, 2, 4}) {
      if (depth == 1 && job.accumulation > 1) continue;
      add(StrCat("depth ", depth, ", K ", interval), [=](StreamPlan& plan) {
        plan.buffer_depth = depth;
        plan.anchor_interval = interval;
        plan.gradient_slabs = 1 + (depth + interval) % 4;
        plan.anchor_home = interval == 2 ? AnchorHome::kHost : AnchorHome::kDevice;
      });
    }
  }
  for (const int64_t interval : {1, 2}) {
    add(StrCat("no prefetch in backward, K ", interval), [=](StreamPlan& plan) {
      plan.backward_prefetch = false;
      plan.buffer_depth = 3;
      plan.anchor_interval = interval;
    });
  }
  for (const int64_t slabs : {1, 2, 3, 4}) {
    add(StrCat(slabs, " slabs"), [=](StreamPlan& plan) { plan.gradient_slabs = slabs; });
  }
  add("no recompute", [](StreamPlan& plan) { plan.recompute = false; });
  for (const int64_t interval : {1, 2}) {
    for (const bool recompute : {true, false}) {
      add(StrCat("gate and up not kept, K ", interval, ", recompute ", recompute ? "on" : "off"),
          [=](StreamPlan& plan) {
            plan.keep_feed_forward = false;
            plan.anchor_interval = interval;
            plan.recompute = recompute;
            if (interval == 1) plan.chunk_bytes = small;
          });
    }
  }
  add("anchors on the host", [](StreamPlan& plan) { plan.anchor_home = AnchorHome::kHost; });
  add("streamed embedding",
      [](StreamPlan& plan) { plan.embedding_home = EmbeddingHome::kStreamed; });
  add("embedding on the device",
      [](StreamPlan& plan) { plan.embedding_home = EmbeddingHome::kDevice; });
  add("small chunks, head in shards", [=](StreamPlan& plan) {
    plan.chunk_bytes = small;
    plan.buffer_depth = 3;
  });
  add("small chunks, streamed embedding", [=](StreamPlan& plan) {
    plan.chunk_bytes = small;
    plan.embedding_home = EmbeddingHome::kStreamed;
  });
  add("some stages a chunk", [=](StreamPlan& plan) { plan.chunk_bytes = middle; });
  add("resident chunks", [=](StreamPlan& plan) {
    plan.chunk_bytes = middle;
    plan.resident_chunks = 3;
  });
  add("loss in two chunks", [](StreamPlan& plan) { plan.loss_chunk_tokens = 128; });
  add("loss in two chunks, head in shards", [=](StreamPlan& plan) {
    plan.loss_chunk_tokens = 128;
    plan.chunk_bytes = small;
  });
  add("two threads everywhere", [](StreamPlan& plan) {
    plan.h2d_threads = plan.compute_threads = plan.d2h_threads = plan.host_threads =
        plan.optimizer_threads = 2;
  });
  add("three compute threads, small chunks", [=](StreamPlan& plan) {
    plan.compute_threads = 3;
    plan.chunk_bytes = small;
  });
  if (job.accumulation > 1) {
    for (const bool recompute : {true, false}) {
      for (const int64_t interval : {1, 2}) {
        add(StrCat("chunk-major, recompute ", recompute ? "on" : "off", ", K ", interval),
            [=](StreamPlan& plan) {
              plan.accumulation_order = AccumulationOrder::kChunkMajor;
              plan.recompute = recompute;
              plan.anchor_interval = interval;
              plan.buffer_depth = 5;
              plan.anchor_home = interval == 2 ? AnchorHome::kHost : AnchorHome::kDevice;
            });
      }
    }
    add("chunk-major, head in shards", [=](StreamPlan& plan) {
      plan.accumulation_order = AccumulationOrder::kChunkMajor;
      plan.chunk_bytes = small;
      plan.loss_chunk_tokens = 128;
      plan.embedding_home = EmbeddingHome::kStreamed;
    });
  }
  return variants;
}

TrainingCaseOutcome TrainSmall(const ModelSpec& spec, const TrainingJob& job,
                               const StreamPlan& plan, int64_t steps) {
  absl::StatusOr<TrainingCaseOutcome> outcome =
      RunTrainingCase({.spec = spec,
                       .job = job,
                       .plan = plan,
                       .source = RandomSource(spec, 7),
                       .batch =
                           [&](int64_t step, int64_t mb) {
                             // Unequal numbers of labels from one micro-batch to the next.
                             return RandomTokens(spec, job, 100 * step + mb, 2 + (step + mb) % 3);
                           },
                       .steps = steps});
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  return outcome.ok() ? *std::move(outcome) : TrainingCaseOutcome{};
}

void ExpectAllPlansEqual(const ModelSpec& spec, const TrainingJob& job) {
  constexpr int64_t kSteps = 20;
  const TrainingCaseOutcome resident = TrainSmall(spec, job, ResidentPlan(), kSteps);
  ASSERT_EQ(static_cast<int64_t>(resident.steps.size()), kSteps);
  // It learns: tokens are random, so the loss falls towards ln(vocabulary) and below.
  EXPECT_NE(resident.steps.front().loss, resident.steps.back().loss);
  for (const Variant& variant : PlanVariants(job)) {
    SCOPED_TRACE(variant.name);
    StreamPlan plan;
    variant.change(plan);
    ExpectEqualRuns(TrainSmall(spec, job, plan, kSteps), resident);
  }
}

TEST(ExactTraining, EveryPlanGivesTheBitsOfResident) {
  ExpectAllPlansEqual(SmallModel(), SmallJob());
}

TEST(ExactTraining, AlsoInBf16WithBf16Gradients) {
  TrainingJob job = SmallJob();
  job.compute_type = NumberType::kBf16;
  job.gradient_type = NumberType::kBf16;
  ExpectAllPlansEqual(SmallModel(), job);
}

TEST(ExactTraining, AlsoWithATiedTableBiasesAndHeadNorms) {
  ModelSpec spec = SmallModel();
  spec.tied = true;
  spec.qkv_bias = true;
  spec.qk_norm = QkNorm::kPerHead;
  spec.family = "qwen3";
  TrainingJob job = SmallJob();
  job.gradient_type = NumberType::kBf16;
  ExpectAllPlansEqual(spec, job);
}

TEST(ExactTraining, AlsoWithThreeMicroBatchesInBothOrders) {
  TrainingJob job = SmallJob();
  job.micro_batch = 2;
  job.accumulation = 3;
  ExpectAllPlansEqual(SmallModel(), job);
}

TEST(ExactTraining, AlsoWithThreeMicroBatchesOfRoundedGradientsAndATiedTable) {
  ModelSpec spec = SmallModel();
  spec.tied = true;
  TrainingJob job = SmallJob();
  job.accumulation = 3;
  job.gradient_type = NumberType::kBf16;
  job.compute_type = NumberType::kBf16;
  ExpectAllPlansEqual(spec, job);
}

// 150 tokens: four pieces of 32 and one of 22.
TEST(ExactTraining, AlsoInPiecesOfTokens) {
  TrainingJob job = SmallJob();
  job.piece_tokens = 32;
  ExpectAllPlansEqual(SmallModel(), job);
}

TEST(ExactTraining, AlsoInPiecesWithThreeMicroBatchesOfRoundedGradients) {
  ModelSpec spec = SmallModel();
  spec.qkv_bias = true;
  spec.qk_norm = QkNorm::kPerHead;
  spec.family = "qwen3";
  TrainingJob job = SmallJob();
  job.piece_tokens = 40;
  job.accumulation = 3;
  job.gradient_type = NumberType::kBf16;
  job.compute_type = NumberType::kBf16;
  ExpectAllPlansEqual(spec, job);
}

// Pieces change the order of sums alone: the first loss is computed row by row.
TEST(ExactTraining, PiecesGiveOtherBitsAndTheSameLoss) {
  TrainingJob job = SmallJob();
  const TrainingCaseOutcome whole = TrainSmall(SmallModel(), job, StreamPlan{}, 5);
  job.piece_tokens = 32;
  const TrainingCaseOutcome pieces = TrainSmall(SmallModel(), job, StreamPlan{}, 5);
  EXPECT_NE(pieces.digest, whole.digest);
  for (size_t step = 0; step < 5; ++step) {
    EXPECT_LT(RelativeError(pieces.steps[step].loss, whole.steps[step].loss), 1e-5) << step;
  }
}

// The product's pieces: 20,000 tokens are two of 8,192 and one of 3,616.
TEST(ExactTraining, TwentyThousandTokensInOneMicroBatch) {
  ModelSpec spec = SmallModel();
  spec.hidden = 64;
  spec.intermediate = 128;
  spec.head_dim = 16;
  spec.vocab = 512;
  spec.max_positions = 1000;
  spec.layers.resize(2);
  TrainingJob job = SmallJob();
  job.sequence = 1000;
  job.micro_batch = 20;
  job.compute_type = NumberType::kBf16;
  job.gradient_type = NumberType::kBf16;
  const TrainingCaseOutcome resident = TrainSmall(spec, job, ResidentPlan(), 1);
  for (const bool keeps : {true, false}) {
    StreamPlan plan;
    plan.keep_feed_forward = keeps;
    plan.anchor_home = AnchorHome::kHost;
    plan.compute_threads = 2;
    ExpectEqualRuns(TrainSmall(spec, job, plan, 1), resident);
  }
  job.piece_tokens = kAllTokens;
  const TrainingCaseOutcome whole = TrainSmall(spec, job, StreamPlan{}, 1);
  EXPECT_NE(whole.digest, resident.digest);
  EXPECT_LT(RelativeError(whole.steps[0].loss, resident.steps[0].loss), 1e-5);
  EXPECT_LT(RelativeError(whole.steps[0].gradient_norm, resident.steps[0].gradient_norm), 1e-4);
}

TEST(ExactTraining, AlsoWithTheOptimizerInBackward) {
  TrainingJob job = SmallJob();
  job.optimizer_place = OptimizerPlace::kInBackward;
  job.clip_norm = 0;
  ExpectAllPlansEqual(SmallModel(), job);
}

TEST(ExactTraining, AlsoWithTheOptimizerAfterTheStep) {
  TrainingJob job = SmallJob();
  job.optimizer_place = OptimizerPlace::kAfterStep;
  ExpectAllPlansEqual(SmallModel(), job);
}

TEST(ExactTraining, TheOptimizersPlaceDoesNotChangeTheNumbersWithoutClip) {
  TrainingJob job = SmallJob();
  job.clip_norm = 0;
  const TrainingCaseOutcome behind = TrainSmall(SmallModel(), job, StreamPlan{}, 10);
  job.optimizer_place = OptimizerPlace::kAfterStep;
  ExpectEqualRuns(TrainSmall(SmallModel(), job, StreamPlan{}, 10), behind);
  job.optimizer_place = OptimizerPlace::kInBackward;
  ExpectEqualRuns(TrainSmall(SmallModel(), job, StreamPlan{}, 10), behind);
}

TEST(ExactTraining, AlsoInEveryStateFormat) {
  for (const StateFormat format :
       {StateFormat::kBf16Moments, StateFormat::k8BitMoments, StateFormat::kBf16Weights}) {
    SCOPED_TRACE(std::string(ToString(format)));
    TrainingJob job = SmallJob();
    job.compute_type = NumberType::kBf16;
    job.state_format = format;
    ExpectAllPlansEqual(SmallModel(), job);
  }
}

TEST(ExactTraining, NormsAndBiasesDecayOnlyWhereAllIsToDecay) {
  ModelSpec spec = SmallModel();
  spec.qkv_bias = true;
  TrainingJob job = SmallJob();
  job.weight_decay = 0.5;
  const TrainingCaseOutcome some = TrainSmall(spec, job, StreamPlan{}, 1);
  job.decay_all = true;
  const TrainingCaseOutcome all = TrainSmall(spec, job, StreamPlan{}, 1);
  job.weight_decay = 0;
  const TrainingCaseOutcome none = TrainSmall(spec, job, StreamPlan{}, 1);
  for (const auto& [name, values] : some.tensors) {
    const bool norm = name.find("norm") != std::string::npos;
    const bool bias = name.find("bias") != std::string::npos;
    // Biases begin at zero, where decay shows nothing in the first step.
    if (!bias) {
      EXPECT_EQ(all.tensors.at(name) == values, !norm) << name;
    }
    EXPECT_EQ(none.tensors.at(name) == values, norm || bias) << name;
  }
}

TEST(ExactTraining, TheReferenceStrategyGivesTheSameBits) {
  TrainingJob job = SmallJob();
  job.optimizer_place = OptimizerPlace::kAfterStep;
  const TrainingCaseOutcome resident = TrainSmall(SmallModel(), job, ResidentPlan(), 10);
  StreamPlan plan;
  plan.strategy = Strategy::kReference;
  plan.embedding_home = EmbeddingHome::kDevice;
  plan.anchor_interval = 2;
  ExpectEqualRuns(TrainSmall(SmallModel(), job, plan, 10), resident);
}

}  // namespace
}  // namespace horizon
