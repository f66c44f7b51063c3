// The last step of a training by epochs is filled up with rows of padding, which have no labels.
// They change no bit of anything.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/embedding/embedding.h"
#include "tests/runtime/support/small_training.h"
#include "tests/runtime/support/training_case.h"

namespace horizon {
namespace {

constexpr int64_t kSteps = 4;

// Rows from `begin` on become padding, which has `id` everywhere.
void Pad(const TrainingJob& job, int64_t begin, int32_t id, std::vector<TokenRecord>& batch) {
  for (size_t i = static_cast<size_t>(begin * job.sequence); i < batch.size(); ++i) {
    batch[i] = {.id = id,
                .label = -100,
                .position = static_cast<int32_t>(static_cast<int64_t>(i) % job.sequence)};
  }
  LinkSameTokens(batch);
}

TrainingCaseOutcome Train(const TrainingJob& job, const StreamPlan& plan,
                          const std::function<void(int64_t, std::vector<TokenRecord>&)>& change) {
  static const ModelSpec spec = TinyLlama();
  absl::StatusOr<TrainingCaseOutcome> outcome =
      RunTrainingCase({.spec = spec,
                       .job = job,
                       .plan = plan,
                       .source = RandomSource(spec, 3),
                       .batch =
                           [&](int64_t step, int64_t micro_batch) {
                             std::vector<TokenRecord> batch =
                                 RandomTokens(spec, job, 100 * step, 3);
                             change(micro_batch, batch);
                             return batch;
                           },
                       .steps = kSteps});
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  return outcome.ok() ? *std::move(outcome) : TrainingCaseOutcome{};
}

std::vector<StreamPlan> Plans(const TrainingJob& job) {
  StreamPlan deep;
  deep.buffer_depth = 3;
  deep.anchor_interval = 2;
  StreamPlan chunk_major = deep;
  chunk_major.accumulation_order = AccumulationOrder::kChunkMajor;
  chunk_major.buffer_depth = 5;
  std::vector<StreamPlan> plans = {StreamPlan{}, deep, ResidentPlan()};
  if (job.accumulation > 1) plans.push_back(chunk_major);
  return plans;
}

TEST(ShortStep, MicroBatchesOfPaddingLeaveTheBitsOfTheStepWithoutThem) {
  TrainingJob alone = TinyJob();
  alone.gradient_type = NumberType::kFp32;
  TrainingJob filled = alone;
  filled.accumulation = 3;
  const TrainingCaseOutcome wanted = Train(alone, StreamPlan{}, [](int64_t, auto&) {});
  ASSERT_EQ(wanted.steps.size(), static_cast<size_t>(kSteps));
  EXPECT_NE(wanted.steps[0].loss, wanted.steps[1].loss);
  for (const StreamPlan& plan : Plans(filled)) {
    ExpectEqualRuns(Train(filled, plan,
                          [&](int64_t micro_batch, std::vector<TokenRecord>& batch) {
                            if (micro_batch > 0) Pad(filled, 0, 0, batch);
                          }),
                    wanted);
  }
}

TEST(ShortStep, WhatARowOfPaddingHoldsChangesNothing) {
  for (const int64_t accumulation : {1, 2}) {
    TrainingJob job = TinyJob();
    job.micro_batch = 3;
    job.accumulation = accumulation;
    const auto padded_with = [&](int32_t id) {
      return [&job, id](int64_t micro_batch, std::vector<TokenRecord>& batch) {
        Pad(job, micro_batch == 0 ? 2 : 1, id, batch);
      };
    };
    const TrainingCaseOutcome wanted = Train(job, ResidentPlan(), padded_with(0));
    ASSERT_EQ(wanted.steps.size(), static_cast<size_t>(kSteps));
    for (const StreamPlan& plan : Plans(job)) {
      ExpectEqualRuns(Train(job, plan, padded_with(0)), wanted);
      ExpectEqualRuns(Train(job, plan, padded_with(5)), wanted);
    }
  }
}

}  // namespace
}  // namespace horizon
