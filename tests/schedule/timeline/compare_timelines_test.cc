#include "schedule/timeline/compare_timelines.h"

#include <gtest/gtest.h>

#include "schedule/build/build_schedule.h"
#include "tests/schedule/random_plans.h"

namespace horizon {
namespace {

Schedule TinySchedule() {
  TrainingJob job;
  job.sequence = 16;
  absl::StatusOr<Schedule> schedule = BuildSchedule(TinyModel(2), job, StreamPlan());
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  return *std::move(schedule);
}

TEST(CompareTimelines, ATimelineBesideItselfHasNoDifference) {
  const Schedule schedule = TinySchedule();
  const Timeline timeline =
      EarliestTimeline(schedule, StepsOf(schedule, 3), [](const Operation&) { return 1000; });
  const StepDurations durations = DurationsOf(schedule, timeline, 1);
  ASSERT_EQ(durations.size(), schedule.steady.operations.size());
  const TimelineComparison comparison = CompareDurations(schedule, durations, durations);
  int64_t operations = 0;
  for (const LaneComparison& lane : comparison.lanes) {
    EXPECT_EQ(lane.busy.difference(), 0);
    EXPECT_NEAR(lane.busy.predicted, 1e-6 * static_cast<double>(lane.operations), 1e-12);
    operations += lane.operations;
  }
  EXPECT_EQ(operations, static_cast<int64_t>(durations.size()));
}

TEST(CompareTimelines, WhatMissesMostComesFirstEitherWay) {
  const Schedule schedule = TinySchedule();
  const size_t count = schedule.steady.operations.size();
  ASSERT_GT(count, 8u);
  StepDurations predicted(count, 1000), measured(count, 1000);
  measured[3] = 5000;   // 4 us more
  measured[5] = 200;    // 0.8 us less
  predicted[7] = 9000;  // 8 us less
  const TimelineComparison comparison = CompareDurations(schedule, predicted, measured, 3);
  ASSERT_EQ(comparison.misses.size(), 3u);
  EXPECT_EQ(comparison.misses[0].operation, 7);
  EXPECT_EQ(comparison.misses[1].operation, 3);
  EXPECT_EQ(comparison.misses[2].operation, 5);
  EXPECT_EQ(comparison.misses[1].name, schedule.NameOf(schedule.steady.operations[3]));
  EXPECT_NEAR(comparison.misses[0].seconds.difference(), -8e-6, 1e-12);
  EXPECT_EQ(comparison.kinds[0].kind, schedule.steady.operations[7].kind);
  double difference = 0;
  for (const LaneComparison& lane : comparison.lanes) difference += lane.busy.difference();
  EXPECT_NEAR(difference, (4000 - 800 - 8000) * 1e-9, 1e-12);
}

TEST(MeanDurations, OfTheLastSteps) {
  MeanDurations durations(3);
  EXPECT_TRUE(durations.empty());
  durations.Add({40, 1});
  durations.Add({10, 2});
  durations.Add({31, 3});
  EXPECT_EQ(durations.Mean(), (StepDurations{27, 2}));
  durations.Add({20, 4});  // in the place of the first
  EXPECT_EQ(durations.Mean(), (StepDurations{20, 3}));
}

// A step during which the machine stood still says nothing of the others.
TEST(MeanDurations, LeaveOutStepsThatTookThreeTimesTheMedian) {
  MeanDurations durations(4);
  for (const int64_t nanoseconds : {10, 10, 1000, 30}) durations.Add({nanoseconds, 0});
  EXPECT_EQ(durations.Mean(), (StepDurations{17, 0}));
}

}  // namespace
}  // namespace horizon
