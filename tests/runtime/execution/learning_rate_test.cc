#include "runtime/execution/learning_rate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace horizon {
namespace {

TrainingJob Job(LearningRateSchedule schedule, int64_t steps, int64_t warmup) {
  TrainingJob job;
  job.learning_rate = 0.5;
  job.learning_rate_schedule = schedule;
  job.steps = steps;
  job.warmup_steps = warmup;
  return job;
}

constexpr LearningRateSchedule kAll[] = {
    LearningRateSchedule::kConstant, LearningRateSchedule::kLinear, LearningRateSchedule::kCosine};

TEST(LearningRate, RisesFromZeroAndIsFullAtTheUpdateAfterTheWarmUp) {
  for (const LearningRateSchedule schedule : kAll) {
    const TrainingJob job = Job(schedule, 20, 4);
    EXPECT_EQ(LearningRateAt(job, 1), 0.0);
    EXPECT_EQ(LearningRateAt(job, 2), 0.125);
    EXPECT_EQ(LearningRateAt(job, 4), 0.375);
    EXPECT_EQ(LearningRateAt(job, 5), 0.5);
  }
}

TEST(LearningRate, WithoutAWarmUpTheFirstUpdateIsFull) {
  for (const LearningRateSchedule schedule : kAll) {
    EXPECT_EQ(LearningRateAt(Job(schedule, 8, 0), 1), 0.5);
  }
}

TEST(LearningRate, ConstantStaysAndGoesOnPastTheEnd) {
  const TrainingJob job = Job(LearningRateSchedule::kConstant, 20, 4);
  EXPECT_EQ(LearningRateAt(job, 20), 0.5);
  EXPECT_EQ(LearningRateAt(job, 1000), 0.5);
}

TEST(LearningRate, LinearFallsByEqualPartsToZeroAfterTheLastUpdate) {
  const TrainingJob job = Job(LearningRateSchedule::kLinear, 12, 4);
  EXPECT_EQ(LearningRateAt(job, 5), 0.5);
  EXPECT_EQ(LearningRateAt(job, 6), 0.5 * 7 / 8);
  EXPECT_EQ(LearningRateAt(job, 9), 0.25);
  EXPECT_EQ(LearningRateAt(job, 12), 0.5 * 1 / 8);
  EXPECT_EQ(LearningRateAt(job, 13), 0.0);
  EXPECT_EQ(LearningRateAt(job, 99), 0.0);
}

TEST(LearningRate, CosineIsHalfInTheMiddleAndZeroAfterTheLastUpdate) {
  const TrainingJob job = Job(LearningRateSchedule::kCosine, 12, 4);
  // The cosine of a rounded multiple of pi is off by its rounding alone.
  constexpr double kRounding = 4e-16;
  EXPECT_EQ(LearningRateAt(job, 5), 0.5);
  EXPECT_NEAR(LearningRateAt(job, 7), 0.25 * (1 + std::sqrt(0.5)), kRounding);
  EXPECT_NEAR(LearningRateAt(job, 9), 0.25, kRounding);
  EXPECT_NEAR(LearningRateAt(job, 11), 0.25 * (1 - std::sqrt(0.5)), kRounding);
  EXPECT_NEAR(LearningRateAt(job, 13), 0.0, kRounding);
  EXPECT_GT(LearningRateAt(job, 12), 0.0);
}

TEST(LearningRate, OfARunOfOneStepIsFullOrTheStartOfTheWarmUp) {
  for (const LearningRateSchedule schedule : kAll) {
    EXPECT_EQ(LearningRateAt(Job(schedule, 1, 0), 1), 0.5);
    EXPECT_EQ(LearningRateAt(Job(schedule, 1, 1), 1), 0.0);
  }
}

TEST(LearningRate, AWarmUpAsLongAsTheRunOrLongerIsNeverLeft) {
  for (const LearningRateSchedule schedule : kAll) {
    EXPECT_EQ(LearningRateAt(Job(schedule, 4, 4), 4), 0.375);
    EXPECT_EQ(LearningRateAt(Job(schedule, 4, 8), 4), 0.1875);
    EXPECT_EQ(LearningRateAt(Job(schedule, 4, 8), 8), 0.4375);
  }
  // What is asked past both ends is finite and not negative.
  EXPECT_EQ(LearningRateAt(Job(LearningRateSchedule::kLinear, 4, 8), 9), 0.0);
  EXPECT_EQ(LearningRateAt(Job(LearningRateSchedule::kLinear, 4, 4), 5), 0.0);
  EXPECT_EQ(LearningRateAt(Job(LearningRateSchedule::kCosine, 4, 4), 5), 0.5);
}

TEST(LearningRate, IsExactForTheLongestRun) {
  const TrainingJob job = Job(LearningRateSchedule::kLinear, 1'000'000'000'000, 0);
  EXPECT_EQ(LearningRateAt(job, 500'000'000'001), 0.25);
}

// As if the run had begun there.
TEST(LearningRate, ANewScheduleGoesFromItsStartToTheEnd) {
  TrainingJob job;
  job.steps = 40;
  job.learning_rate = 0.5;
  job.warmup_steps = 4;
  for (const LearningRateSchedule kind :
       {LearningRateSchedule::kConstant, LearningRateSchedule::kLinear,
        LearningRateSchedule::kCosine}) {
    job.learning_rate_schedule = kind;
    TrainingJob extended = job;
    extended.schedule_start = 60;
    extended.steps = 100;
    for (int64_t step = 1; step <= 40; ++step) {
      EXPECT_EQ(LearningRateAt(extended, 60 + step), LearningRateAt(job, step)) << step;
    }
  }
}

}  // namespace
}  // namespace horizon
