// Mixtures of experts: the plan never changes the numbers, not even where a chunk has some of the
// experts of a layer; statistics of the routers and the auxiliary loss are part of that.
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/arguments/token_record.h"
#include "model/stages.h"
#include "schedule/chunk_table.h"
#include "tests/runtime/support/training_case.h"

namespace horizon {
namespace {

// Four layers, one of them dense; expert sizes that fill no block of anything.
ModelSpec Experts() {
  ModelSpec spec;
  spec.name = "experts";
  spec.family = "qwen3_moe";
  spec.hidden = 36;
  spec.intermediate = 20;  // of the dense layer: less than an expert too
  spec.heads = 4;
  spec.kv_heads = 2;
  spec.head_dim = 10;
  spec.vocab = 60;  // less than an expert, so that the least chunk holds one expert
  spec.max_positions = 256;
  spec.experts = {.experts = 5, .experts_per_token = 2, .intermediate = 22};
  spec.layers.resize(4);
  for (const size_t layer : {0, 2, 3}) spec.layers[layer].has_experts = true;
  return spec;
}

// One tensor for all experts, biases, clamped activations: as gpt_oss.
ModelSpec FusedExperts() {
  ModelSpec spec = Experts();
  spec.family = "gpt_oss";
  spec.intermediate = 0;
  spec.experts.fused_tensors = true;
  spec.experts.normalise_top_k = true;
  spec.expert_bias = true;
  spec.swiglu_limit = 0.05;  // random weights are small
  spec.swiglu_alpha = 1.702;
  for (LayerSpec& layer : spec.layers) layer.has_experts = true;
  return spec;
}

TrainingJob Job() {
  TrainingJob job;
  job.sequence = 45;
  job.micro_batch = 2;
  job.accumulation = 2;
  job.learning_rate = 3e-3;
  job.router_aux_loss = 0.02;
  job.compute_type = NumberType::kFp32;
  job.gradient_type = NumberType::kFp32;
  return job;
}

struct Variant {
  std::string name;
  std::function<void(StreamPlan&)> change;
};

// Plans that cut the experts of a layer into chunks of one, of two, or not at all.
std::vector<Variant> Variants(const ModelSpec& spec, const TrainingJob& job) {
  const Bytes least = LeastChunkBytes(ListStages(spec), job);
  std::vector<Variant> variants = {
      {"as it comes", [](StreamPlan&) {}},
      {"two layers a block, checkpoints on the host",
       [](StreamPlan& plan) {
         plan.anchor_interval = 2;
         plan.anchor_home = AnchorHome::kHost;
       }},
      {"no recompute", [](StreamPlan& plan) { plan.recompute = false; }},
      {"gate and up not kept", [](StreamPlan& plan) { plan.keep_feed_forward = false; }},
      {"least chunks", [=](StreamPlan& plan) { plan.chunk_bytes = least; }},
      {"least chunks, no recompute, three threads",
       [=](StreamPlan& plan) {
         plan.chunk_bytes = least;
         plan.recompute = false;
         plan.compute_threads = 3;
       }},
      {"least chunks, gate and up not kept, K 2",
       [=](StreamPlan& plan) {
         plan.chunk_bytes = least;
         plan.keep_feed_forward = false;
         plan.anchor_interval = 2;
       }},
      {"some experts a chunk, one slot",
       [=](StreamPlan& plan) {
         plan.chunk_bytes = least + least;
         plan.buffer_depth = job.accumulation > 1 ? 2 : 1;
       }},
      {"chunk-major, some experts a chunk", [=](StreamPlan& plan) {
         plan.accumulation_order = AccumulationOrder::kChunkMajor;
         plan.chunk_bytes = least + least;
         plan.buffer_depth = 5;
       }}};
  return variants;
}

// Every row ends with padding.
std::vector<TokenRecord> PaddedTokens(const ModelSpec& spec, const TrainingJob& job,
                                      uint64_t seed) {
  std::vector<TokenRecord> tokens = RandomTokens(spec, job, seed, 3);
  for (int64_t row = 0; row < job.micro_batch; ++row) {
    for (int64_t t = job.sequence - 5; t < job.sequence; ++t) {
      tokens[static_cast<size_t>(row * job.sequence + t)].label = kPaddingLabel;
    }
  }
  return tokens;
}

TrainingCaseOutcome Train(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan,
                          int64_t steps = 6) {
  absl::StatusOr<TrainingCaseOutcome> outcome =
      RunTrainingCase({.spec = spec,
                       .job = job,
                       .plan = plan,
                       .source = RandomSource(spec, 7),
                       .batch =
                           [&](int64_t step, int64_t mb) {
                             return PaddedTokens(spec, job, static_cast<uint64_t>(100 * step + mb));
                           },
                       .steps = steps});
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  return outcome.ok() ? *std::move(outcome) : TrainingCaseOutcome{};
}

void ExpectAllPlansEqual(const ModelSpec& spec, const TrainingJob& job) {
  const TrainingCaseOutcome resident = Train(spec, job, ResidentPlan());
  ASSERT_FALSE(resident.steps.empty());
  for (const Variant& variant : Variants(spec, job)) {
    SCOPED_TRACE(variant.name);
    StreamPlan plan;
    variant.change(plan);
    const TrainingCaseOutcome got = Train(spec, job, plan);
    ExpectEqualRuns(got, resident);
    for (size_t step = 0; step < got.steps.size(); ++step) {
      EXPECT_EQ(got.steps[step].expert_counts, resident.steps[step].expert_counts);
      EXPECT_EQ(got.steps[step].router_aux_loss, resident.steps[step].router_aux_loss);
    }
  }
}

TEST(ExactExperts, EveryPlanGivesTheBitsOfResident) { ExpectAllPlansEqual(Experts(), Job()); }

TEST(ExactExperts, AlsoWithOneTensorForAllExpertsAndRoundedGradients) {
  TrainingJob job = Job();
  job.compute_type = NumberType::kBf16;
  job.gradient_type = NumberType::kBf16;
  ExpectAllPlansEqual(FusedExperts(), job);
}

TEST(ExactExperts, AlsoInPiecesOfTokens) {
  TrainingJob job = Job();
  job.piece_tokens = 32;  // 90 tokens
  ExpectAllPlansEqual(Experts(), job);
  ExpectAllPlansEqual(FusedExperts(), job);
}

TEST(ExactExperts, AlsoWith8BitMomentsWhoseBlocksBeginWithEachExpert) {
  TrainingJob job = Job();
  job.compute_type = NumberType::kBf16;
  job.state_format = StateFormat::k8BitMoments;
  ExpectAllPlansEqual(Experts(), job);
  ExpectAllPlansEqual(FusedExperts(), job);
}

TEST(ExactExperts, AlsoWithRoundedWeightsAndNormsOnBothSides) {
  ModelSpec spec = Experts();
  spec.norm_place = NormPlace::kBoth;
  spec.residual_multiplier = 0.5;
  TrainingJob job = Job();
  job.compute_type = NumberType::kBf16;
  job.state_format = StateFormat::kBf16Weights;
  ExpectAllPlansEqual(spec, job);
}

TEST(ExactExperts, AlsoWhereRoutersOrExpertsAreFrozen) {
  for (const std::string pattern : {"*.mlp.gate.*", "*.experts.*"}) {
    SCOPED_TRACE(pattern);
    TrainingJob job = Job();
    job.freeze = {pattern};
    ExpectAllPlansEqual(Experts(), job);
  }
  TrainingJob job = Job();
  job.train = {"*.experts.down_proj_bias", "model.layers.2.mlp.router.bias"};
  ExpectAllPlansEqual(FusedExperts(), job);
}

// Two runs in pieces differ by rounding alone.
TEST(ExactExperts, PiecesChangeTheOrderOfSumsAlone) {
  TrainingJob job = Job();
  const TrainingCaseOutcome whole = Train(Experts(), job, StreamPlan{}, 3);
  job.piece_tokens = 32;
  const TrainingCaseOutcome pieces = Train(Experts(), job, StreamPlan{}, 3);
  EXPECT_NE(pieces.digest, whole.digest);
  for (size_t step = 0; step < 3; ++step) {
    EXPECT_LT(RelativeError(pieces.steps[step].loss, whole.steps[step].loss), 1e-5) << step;
    EXPECT_LT(RelativeError(pieces.steps[step].gradient_norm, whole.steps[step].gradient_norm),
              1e-4)
        << step;
  }
}

TEST(ExactExperts, RoutersCountEveryTokenButPadding) {
  const ModelSpec spec = Experts();
  const TrainingJob job = Job();
  const TrainingCaseOutcome outcome = Train(spec, job, StreamPlan{}, 1);
  const StepResult& step = outcome.steps.at(0);
  ASSERT_EQ(step.expert_counts.size(), 3u * 5u);
  for (size_t router = 0; router < 3; ++router) {
    const auto begin = step.expert_counts.begin() + static_cast<int64_t>(5 * router);
    // Two micro-batches of two rows with 40 tokens each, two experts a token.
    EXPECT_EQ(std::accumulate(begin, begin + 5, int64_t{0}), 2 * 2 * 40 * 2) << router;
  }
  // Nearly even at the beginning: about experts_per_token.
  EXPECT_NEAR(step.router_aux_loss, 2.0, 0.1);
}

// The gradient of the auxiliary loss by the router, checked by what it is for: without another
// loss, steps along it even the experts out.
TEST(ExactExperts, TheAuxiliaryLossEvensTheExpertsOut) {
  const ModelSpec spec = Experts();
  TrainingJob job = Job();
  job.train = {"*.mlp.gate.*"};
  job.learning_rate = 1e-2;
  job.weight_decay = 0;
  const auto last_loss = [&](double coefficient) {
    job.router_aux_loss = coefficient;
    return Train(spec, job, StreamPlan{}, 40).steps.back().router_aux_loss;
  };
  EXPECT_LT(last_loss(10.0), last_loss(0.0));
}

TEST(ExactExperts, ACoefficientOfZeroChangesNothingAndIsReportedAllTheSame) {
  TrainingJob job = Job();
  job.router_aux_loss = 0;
  const TrainingCaseOutcome without = Train(Experts(), job, StreamPlan{}, 2);
  EXPECT_GT(without.steps[0].router_aux_loss, 1.0);
  job.router_aux_loss = 0.5;
  const TrainingCaseOutcome with = Train(Experts(), job, StreamPlan{}, 2);
  EXPECT_EQ(with.steps[0].loss, without.steps[0].loss);
  EXPECT_NE(with.steps[0].gradient_norm, without.steps[0].gradient_norm);
}

}  // namespace
}  // namespace horizon
