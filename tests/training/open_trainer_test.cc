#include "training/open_trainer.h"

#include <gtest/gtest.h>

#include "schedule/build/build_schedule.h"
#include "tests/training/small_run.h"

namespace horizon {
namespace {

absl::StatusOr<Schedule> ScheduleOf(const SmallRun& run) {
  return BuildSchedule(run.model().config.spec, run.settings.job, StreamPlan{});
}

TEST(OpenTrainer, TheDeviceHasExactlyTheBytesOfTheSchedule) {
  SmallRun run;
  RealClock clock;
  absl::StatusOr<Schedule> schedule = ScheduleOf(run);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  const Bytes bytes = ArenaBytes(*schedule);
  const absl::StatusOr<OpenedTrainer> opened =
      OpenTrainer(run.model().config.spec, *std::move(schedule), {.clock = clock});
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->device().high_water(), bytes);
}

// Nothing runs that is not proven, whoever has built it.
TEST(OpenTrainer, AScheduleThatLacksAWaitIsRefused) {
  SmallRun run;
  RealClock clock;
  absl::StatusOr<Schedule> schedule = ScheduleOf(run);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  for (Operation& operation : schedule->steady.operations) {
    operation.waits.end = operation.waits.begin;
  }
  const absl::Status status =
      OpenTrainer(run.model().config.spec, *std::move(schedule), {.clock = clock}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
}

TEST(OpenTrainer, AScheduleThatCanBeSimulatedOnlyIsRefused) {
  SmallRun run;
  RealClock clock;
  absl::StatusOr<Schedule> schedule = ScheduleOf(run);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  schedule->plan.strategy = Strategy::kGemini;
  EXPECT_FALSE(OpenTrainer(run.model().config.spec, *std::move(schedule), {.clock = clock}).ok());
}

}  // namespace
}  // namespace horizon
