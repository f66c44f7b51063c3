// What every command says of a run: arithmetic, limits, and all kinds of passes.
#include "simulator/prediction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "common/text/str_cat.h"
#include "model/stages.h"
#include "schedule/build/build_schedule.h"
#include "tests/schedule/random_plans.h"
#include "tests/simulator/test_profile.h"

namespace horizon {
namespace {

TrainingJob Job() {
  TrainingJob job;
  job.device = DeviceKind::kCuda;
  job.activation_type = NumberType::kBf16;
  job.sequence = 16;
  job.micro_batch = 3;
  job.accumulation = 2;
  return job;
}

Schedule Build(PassKind kind, const StreamPlan& plan = {}) {
  absl::StatusOr<Schedule> schedule = BuildSchedule(TinyModel(), Job(), plan, kind);
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  return *std::move(schedule);
}

// 256 in the table and as many in the head, 2 x 656 in the layers, 8 in the final norm.
constexpr double kParameters = 256 + 256 + 2 * 656 + 8;

TEST(Prediction, TokensAndFlopsFollowFromTheStep) {
  const HardwareProfile profile = TestProfile();
  const Schedule schedule = Build(PassKind::kTrain);
  const ModelSpec spec = TinyModel();
  const PredictedRun run = PredictRun(spec, schedule, {profile, {}, 0});
  const Prediction& prediction = run.prediction;
  EXPECT_GT(prediction.step_seconds, 0);
  EXPECT_EQ(prediction.step_seconds, run.steady.step_seconds());
  // 2 micro-batches of 3 sequences of 16.
  EXPECT_DOUBLE_EQ(prediction.tokens_per_second, 96 / prediction.step_seconds);
  EXPECT_DOUBLE_EQ(prediction.model_tflops, 6 * kParameters * 96 / prediction.step_seconds / 1e12);
  EXPECT_EQ(prediction.operations, static_cast<int64_t>(schedule.steady.operations.size()));
  EXPECT_TRUE(prediction.fits());
  for (int lane = 0; lane < kLaneCount; ++lane) {
    EXPECT_DOUBLE_EQ(prediction.busy_share[lane],
                     static_cast<double>(run.steady.busy_nanoseconds[lane]) /
                         static_cast<double>(run.steady.step_nanoseconds));
    EXPECT_LE(prediction.busy_share[lane], 1);
  }
  EXPECT_FALSE(prediction.stalls.empty());
  EXPECT_TRUE(
      std::is_sorted(prediction.stalls.begin(), prediction.stalls.end(),
                     [](const Stall& a, const Stall& b) { return a.nanoseconds > b.nanoseconds; }));
}

// One of four experts a token: only that one's parameters count.
TEST(Prediction, FlopsAreThoseOfTheActiveParameters) {
  const HardwareProfile profile = TestProfile();
  ModelSpec spec = TinyModel();
  spec.family = "qwen3_moe";
  spec.experts = {.experts = 4, .experts_per_token = 1, .intermediate = 16};
  for (LayerSpec& layer : spec.layers) layer.has_experts = true;
  const absl::StatusOr<Schedule> schedule = BuildSchedule(spec, Job(), StreamPlan());
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  const Prediction prediction = PredictRun(spec, *schedule, {profile, {}, 0}).prediction;
  // An expert is as large as the dense feed-forward; each layer has a router of 4 x 8 besides.
  EXPECT_DOUBLE_EQ(prediction.model_tflops,
                   6 * (kParameters + 2 * 32) * prediction.tokens_per_second / 1e12);
}

TEST(Prediction, BuildsAndSimulatesAlike) {
  const HardwareProfile profile = TestProfile();
  const absl::StatusOr<Prediction> prediction =
      Predict(TinyModel(), Job(), StreamPlan(), {profile, {}, 0});
  ASSERT_TRUE(prediction.ok()) << prediction.status();
  const ModelSpec spec = TinyModel();
  EXPECT_EQ(prediction->step_seconds,
            PredictRun(spec, Build(PassKind::kTrain), {profile, {}, 0}).prediction.step_seconds);
}

TEST(Prediction, AnImpossiblePlanIsBuildSchedulesError) {
  const HardwareProfile profile = TestProfile();
  StreamPlan plan;
  plan.chunk_bytes = Bytes(CheckedU64(1));
  EXPECT_EQ(Predict(TinyModel(), Job(), plan, {profile, {}, 0}).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

// Every pass gives a time and the tokens that go through it.
TEST(Prediction, OtherPassesHaveOneBatchAndDecodeOneTokenEach) {
  const HardwareProfile profile = TestProfile();
  const ModelSpec spec = TinyModel();
  for (const auto& [kind, tokens] : {std::pair{PassKind::kEvaluate, 48.0},
                                     {PassKind::kPrefill, 48.0},
                                     {PassKind::kDecode, 3.0}}) {
    for (const Strategy strategy : {Strategy::kHorizon, Strategy::kResident}) {
      StreamPlan plan;
      plan.strategy = strategy;
      if (strategy == Strategy::kResident) plan.embedding_home = EmbeddingHome::kDevice;
      const Prediction prediction =
          PredictRun(spec, Build(kind, plan), {profile, {}, 0}).prediction;
      EXPECT_GT(prediction.step_seconds, 0) << ToString(kind);
      EXPECT_NEAR(prediction.tokens_per_second * prediction.step_seconds, tokens, 1e-9);
      EXPECT_GT(prediction.operations, 0);
      for (const double share : prediction.busy_share) EXPECT_LE(share, 1);
    }
  }
}

TEST(Prediction, WhatLacksIsSaidAndTheTimeAllTheSame) {
  HardwareProfile profile = TestProfile();
  profile.host.memory_bytes.value = 1;
  profile.device.memory_bytes.value = 1;
  const ModelSpec spec = TinyModel();
  const Prediction prediction =
      PredictRun(spec, Build(PassKind::kTrain), {profile, {}, 0}).prediction;
  EXPECT_FALSE(prediction.fits());
  EXPECT_EQ(prediction.shortages.size(), 2u);
  EXPECT_GT(prediction.step_seconds, 0);
}

// Only who tries can say what limits (planner/find_limits.h).
TEST(Prediction, NamesNoLimitUnasked) {
  const HardwareProfile profile = TestProfile();
  EXPECT_TRUE(
      PredictRun(TinyModel(), Build(PassKind::kTrain), {profile, {}, 0}).prediction.limits.empty());
  EXPECT_EQ(ToString(RunLimit{.what = "link", .gain = 0.196}),
            "link (a step 20 % shorter with 25 % more of it)");
}

}  // namespace
}  // namespace horizon
