#include "training/saving.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/training/small_run.h"

namespace horizon {
namespace {

using testing::HasSubstr;

TEST(SavingCost, CountsSavesAndFailuresAndNoneThatWereDropped) {
  SavingCost cost;
  cost.Add({.step = 1, .path = "a", .bytes = 10_B, .seconds = 2, .waited = 0.5});
  cost.Add({.step = 2, .path = "b", .bytes = 10_B, .seconds = 1, .waited = 0});
  cost.Add({.step = 3, .status = absl::ResourceExhaustedError("full")});
  cost.Add({.step = 4, .status = absl::CancelledError("dropped")});
  EXPECT_EQ(cost.saves, 2);
  EXPECT_EQ(cost.failed, 1);
  EXPECT_EQ(cost.bytes, 20_B);
  EXPECT_EQ(cost.seconds, 3);
  EXPECT_EQ(cost.waited, 0.5);
}

TEST(Saving, TheLineSaysHowOftenAndARunWithoutCheckpointsHasNone) {
  SmallRun run;
  const BegunTraining begun = run.Begin();
  const auto line = [&] {
    RealClock clock;
    return *DescribeSaving(run.io(), clock, run.settings, begun.layout, begun.plan);
  };
  EXPECT_THAT(line(), HasSubstr("every 500 steps"));
  run.settings.save.every = 0;
  EXPECT_THAT(line(), HasSubstr("at the end"));
  run.settings.save.mode = std::nullopt;
  EXPECT_EQ(line(), "");
}

TEST(Saving, WeightsAloneTakeLess) {
  SmallRun run;
  const BegunTraining begun = run.Begin();
  const absl::StatusOr<CheckpointLayout> weights =
      LayOutSaves(begun.trainer().schedule(), {.mode = SaveMode::kWeights});
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_LT(weights->total_bytes, begun.layout.total_bytes);
}

}  // namespace
}  // namespace horizon
