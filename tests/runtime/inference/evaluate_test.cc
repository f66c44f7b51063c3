// Evaluation gives the losses training sees, under every plan with the same bits, alone or beside a
// training that then goes on as if nothing had been evaluated; and a sample's losses are the same
// whether it has a row for itself or shares one.
#include "runtime/inference/evaluate.h"

#include <cmath>
#include <map>
#include <memory>
#include <vector>

#include "common/clock.h"
#include "common/text/str_cat.h"
#include "gtest/gtest.h"
#include "kernels/embedding/embedding.h"
#include "runtime/device/host_device.h"
#include "runtime/execution/trainer.h"
#include "tests/runtime/support/small_training.h"

namespace horizon {
namespace {

// A model of five layers and three loss tiles.
ModelSpec Model() {
  ModelSpec spec = TinyLlama();
  spec.vocab = 1100;
  // Attention and feed-forward have more than 7,000 parameters, which some plans cut.
  spec.heads = spec.kv_heads = 26;
  spec.intermediate = 220;
  spec.max_positions = 256;
  spec.layers.resize(5);
  return spec;
}

TrainingJob Job() {
  TrainingJob job = TinyJob();
  job.sequence = 75;
  job.micro_batch = 2;
  job.gradient_type = NumberType::kFp32;
  job.optimizer_place = OptimizerPlace::kAfterStep;  // the one that every strategy has
  return job;
}

std::vector<std::pair<std::string, StreamPlan>> Plans(const TrainingJob& job) {
  std::vector<std::pair<std::string, StreamPlan>> plans;
  plans.emplace_back("as it comes", StreamPlan{});
  StreamPlan plan;
  plan.chunk_bytes = 7'000 * BytesOfParameter(job).link;
  plan.embedding_home = EmbeddingHome::kStreamed;
  plans.emplace_back("stages in shards", plan);
  plan.resident_chunks = 2;
  plan.buffer_depth = 1;
  plan.compute_threads = 3;
  plans.emplace_back("resident chunks, one slot", plan);
  plan = {};
  plan.recompute = false;
  plan.loss_chunk_tokens = 128;
  plans.emplace_back("two loss chunks", plan);
  plan = {};
  plan.strategy = Strategy::kReference;
  plan.embedding_home = EmbeddingHome::kDevice;
  plans.emplace_back("reference", plan);
  plan = {};
  plan.strategy = Strategy::kResident;
  plan.embedding_home = EmbeddingHome::kDevice;
  plan.recompute = false;
  plans.emplace_back("resident", plan);
  return plans;
}

// As many random micro-batches as asked for.
NextMicroBatch Batches(const ModelSpec& spec, const TrainingJob& job, int count) {
  return [&spec, &job, count,
          given = 0]() mutable -> absl::StatusOr<std::optional<std::vector<TokenRecord>>> {
    if (given == count) return std::nullopt;
    return RandomTokens(spec, job, static_cast<uint64_t>(++given), 7);
  };
}

struct Made {
  RealClock clock;
  std::unique_ptr<HostDevice> device;
  std::unique_ptr<Trainer> trainer;
  std::unique_ptr<ModelPass> alone;
  std::unique_ptr<ModelPass> beside;

  RunEnvironment Environment() {
    return {.device = *device, .kernels = HostKernels(), .clock = clock};
  }
  void MakeDevice(Bytes bytes) {
    device = *HostDevice::Create({.capacity = bytes, .clock = &clock});
  }
  void Train(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan) {
    MakeDevice(1_GiB);
    auto made = Trainer::Create(spec, job, plan,
                                {.device = *device, .kernels = HostKernels(), .clock = clock});
    ASSERT_TRUE(made.ok()) << made.status();
    trainer = *std::move(made);
    ASSERT_TRUE(trainer->store().Fill(RandomSource(spec, 3)).ok());
    auto second = ModelPass::CreateBeside(
        {.spec = spec, .job = job, .plan = plan, .kind = PassKind::kEvaluate}, trainer->pass());
    ASSERT_TRUE(second.ok()) << second.status();
    beside = *std::move(second);
  }
  void Alone(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan,
             const ParameterStore::Source& source) {
    MakeDevice(1_GiB);
    auto made = ModelPass::Create(
        {.spec = spec, .job = job, .plan = plan, .kind = PassKind::kEvaluate}, Environment());
    ASSERT_TRUE(made.ok()) << made.status();
    alone = *std::move(made);
    ASSERT_TRUE(alone->store().Fill(source).ok());
  }
};

std::vector<float> LossesOf(const ModelPass& pass, const NextMicroBatch& next) {
  std::vector<float> all;
  const absl::StatusOr<Evaluation> evaluation =
      Evaluate(pass, next, [&](std::span<const TokenRecord> tokens, std::span<const float> losses) {
        EXPECT_EQ(tokens.size(), losses.size());
        for (size_t i = 0; i < tokens.size(); ++i) {
          EXPECT_EQ(tokens[i].label < 0, losses[i] == 0.0f);
        }
        all.insert(all.end(), losses.begin(), losses.end());
      });
  EXPECT_TRUE(evaluation.ok()) << evaluation.status();
  return all;
}

TEST(Evaluate, EveryPlanGivesTheSameBits) {
  const ModelSpec spec = Model();
  for (const NumberType compute : {NumberType::kFp32, NumberType::kBf16}) {
    TrainingJob job = Job();
    job.compute_type = compute;
    std::vector<float> expected;
    for (const auto& [name, plan] : Plans(job)) {
      SCOPED_TRACE(name);
      Made made;
      made.Alone(spec, job, plan, RandomSource(spec, 3));
      // The table of 13,200 parameters is cut where a chunk holds 7,000.
      EXPECT_EQ(made.alone->schedule().chunks.head.size() > 1, plan.chunk_bytes < 1_MiB);
      const std::vector<float> losses = LossesOf(*made.alone, Batches(spec, job, 4));
      ASSERT_EQ(losses.size(), 4u * 150);
      if (expected.empty()) expected = losses;
      EXPECT_EQ(losses, expected);
    }
  }
}

TEST(Evaluate, GivesTheLossThatTrainingSees) {
  const ModelSpec spec = Model();
  const TrainingJob job = Job();
  for (const auto& [name, plan] : Plans(job)) {
    SCOPED_TRACE(name);
    const absl::StatusOr<TrainingCaseOutcome> trained =
        RunTrainingCase({.spec = spec,
                         .job = job,
                         .plan = plan,
                         .source = RandomSource(spec, 3),
                         .batch = [&](int64_t, int64_t) { return RandomTokens(spec, job, 1, 7); }});
    ASSERT_TRUE(trained.ok()) << trained.status();
    Made made;
    made.Alone(spec, job, plan, RandomSource(spec, 3));
    const absl::StatusOr<Evaluation> evaluation = Evaluate(*made.alone, Batches(spec, job, 1));
    ASSERT_TRUE(evaluation.ok()) << evaluation.status();
    EXPECT_EQ(evaluation->counted, trained->steps[0].counted);
    // The loss of a token is rounded to fp32 once, differently in the two: about log(1100) = 7.
    EXPECT_NEAR(evaluation->loss(), trained->steps[0].loss, 8 * 0x1p-23);
    EXPECT_NEAR(evaluation->perplexity(), std::exp(evaluation->loss()), 1e-9);
  }
}

// Trains two steps twice, with and without evaluations around them.
TEST(Evaluate, BesideATrainingChangesNothingOfIt) {
  const ModelSpec spec = Model();
  const TrainingJob job = Job();
  for (const auto& [name, plan] : Plans(job)) {
    SCOPED_TRACE(name);
    const auto train = [&](Made& made, int64_t step) {
      ASSERT_TRUE(made.trainer
                      ->Train(
                          step, step,
                          [&](int64_t number) -> absl::StatusOr<StepInput> {
                            StepInput input{.learning_rate = 1e-2, .counted = 1};
                            input.tokens = RandomTokens(spec, job, static_cast<uint64_t>(number));
                            return input;
                          },
                          [](const Trainer::Report&) { return Trainer::Next::kContinue; })
                      .ok());
    };
    Made plain;
    plain.Train(spec, job, plan);
    train(plain, 1);
    train(plain, 2);
    Made evaluated;
    evaluated.Train(spec, job, plan);
    const std::vector<float> before = LossesOf(*evaluated.beside, Batches(spec, job, 3));
    train(evaluated, 1);
    const std::vector<float> between = LossesOf(*evaluated.beside, Batches(spec, job, 3));
    train(evaluated, 2);
    const std::vector<float> after = LossesOf(*evaluated.beside, Batches(spec, job, 3));
    EXPECT_EQ(*plain.trainer->store().Digest(), *evaluated.trainer->store().Digest());
    EXPECT_NE(before, between);
    EXPECT_NE(between, after);

    // The same parameters in a pass of their own give the same bits.
    Made alone;
    alone.Alone(spec, job, plan,
                [&](const TensorSpec& tensor, uint64_t first, std::span<float> into) {
                  return evaluated.trainer->store().ReadMaster(tensor, first, into);
                });
    EXPECT_EQ(LossesOf(*alone.alone, Batches(spec, job, 3)), after);
  }
}

TEST(Evaluate, APackedSampleHasTheLossesItHasAlone) {
  const ModelSpec spec = Model();
  TrainingJob job = Job();
  job.compute_type = NumberType::kFp32;
  Made made;
  made.Alone(spec, job, {}, RandomSource(spec, 3));
  const std::vector<TokenRecord> packed = RandomTokens(spec, job, 5);
  const std::vector<float> together = LossesOf(
      *made.alone,
      [&, given = false]() mutable -> absl::StatusOr<std::optional<std::vector<TokenRecord>>> {
        if (std::exchange(given, true)) return std::nullopt;
        return packed;
      });
  int samples = 0;
  for (size_t begin = 0; begin < packed.size();) {
    size_t end = begin + 1;
    while (end < packed.size() && packed[end].position > 0) ++end;
    std::vector<TokenRecord> alone(packed.size());
    std::copy(packed.begin() + static_cast<int64_t>(begin),
              packed.begin() + static_cast<int64_t>(end), alone.begin());
    LinkSameTokens(alone);
    const std::vector<float> losses = LossesOf(
        *made.alone,
        [&, given = false]() mutable -> absl::StatusOr<std::optional<std::vector<TokenRecord>>> {
          if (std::exchange(given, true)) return std::nullopt;
          return alone;
        });
    for (size_t i = begin; i < end; ++i) {
      // fp32 throughout: the same sums with terms in another order, some hundred roundings of
      // values of size 1 in each of ten stages.
      EXPECT_NEAR(together[i], losses[i - begin], 1000 * 0x1p-24) << i;
    }
    begin = end;
    ++samples;
  }
  EXPECT_GT(samples, 4);
}

TEST(Evaluate, NothingGivenIsNothingCounted) {
  const ModelSpec spec = Model();
  const TrainingJob job = Job();
  Made made;
  made.Alone(spec, job, {}, RandomSource(spec, 3));
  const absl::StatusOr<Evaluation> evaluation = Evaluate(*made.alone, Batches(spec, job, 0));
  ASSERT_TRUE(evaluation.ok());
  EXPECT_EQ(evaluation->counted, 0);
  EXPECT_EQ(evaluation->loss(), 0);
}

TEST(Evaluate, WrongTokensAreRefused) {
  const ModelSpec spec = Model();
  const TrainingJob job = Job();
  const auto one = [&](std::vector<TokenRecord> tokens) -> absl::Status {
    Made made;
    made.Alone(spec, job, {}, RandomSource(spec, 3));
    return Evaluate(
               *made.alone,
               [&]() -> absl::StatusOr<std::optional<std::vector<TokenRecord>>> { return tokens; })
        .status();
  };
  std::vector<TokenRecord> tokens = RandomTokens(spec, job, 1);
  tokens.pop_back();
  EXPECT_TRUE(absl::IsInvalidArgument(one(tokens)));
  for (const int32_t position : {-1, 1, 2, 75, 1 << 30}) {
    tokens = RandomTokens(spec, job, 1);
    tokens[75].position = position;  // the first of the second row
    const absl::Status status = one(tokens);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_NE(status.message().find("position"), absl::string_view::npos) << status;
  }
}

TEST(Evaluate, BesideAPassWithoutRoomIsRefused) {
  const ModelSpec spec = Model();
  const TrainingJob job = Job();
  Made made;
  made.Alone(spec, job, {}, RandomSource(spec, 3));
  TrainingJob longer = job;
  longer.micro_batch = 40;
  const auto second = ModelPass::CreateBeside(
      {.spec = spec, .job = longer, .plan = {}, .kind = PassKind::kEvaluate}, *made.alone);
  EXPECT_TRUE(absl::IsFailedPrecondition(second.status())) << second.status();
}

}  // namespace
}  // namespace horizon
