#include "planner/profile/measure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace horizon {
namespace {

using std::chrono::milliseconds;

// Work that takes the given times one after the other, the last again and again.
class Work {
 public:
  Work(VirtualClock& clock, std::vector<int> times) : clock_(clock), times_(std::move(times)) {}
  absl::Status Run() {
    clock_.Advance(milliseconds(times_[std::min(runs_, times_.size() - 1)]));
    ++runs_;
    return absl::OkStatus();
  }
  size_t runs() const { return runs_; }

 private:
  VirtualClock& clock_;
  std::vector<int> times_;
  size_t runs_ = 0;
};

TEST(MeasuringTime, TheMedianLeavesOutTheFirstRunAndTheOdd) {
  VirtualClock clock;
  MeasuringTime time(clock, milliseconds(1050), 1);
  Work work(clock, {500, 10, 12, 400, 8, 120, 11});
  const absl::StatusOr<Measured> measured = time.Measure([&] { return work.Run(); });
  ASSERT_TRUE(measured.ok());
  // 500 is the warm-up; 8 10 12 120 400 end at the limit.
  EXPECT_EQ(measured->repeats, 5);
  EXPECT_DOUBLE_EQ(measured->seconds, 0.012);
  EXPECT_DOUBLE_EQ(measured->spread, (400.0 - 8.0) / 12.0);
}

// The machine becomes twice as slow in the middle: the work, and the yardstick with it.
TEST(MeasuringTime, AgainstAYardstickAMachineThatSlowsDownLooksAsItWas) {
  VirtualClock clock;
  MeasuringTime time(clock, milliseconds(2000), 1);
  const auto slowness = [&] { return clock.Now() < milliseconds(900) ? 1 : 2; };
  const absl::StatusOr<Measured> measured = time.MeasureAgainst(
      [&] {
        clock.Advance(milliseconds(30 * slowness()));
        return absl::OkStatus();
      },
      [&]() -> absl::StatusOr<double> {
        clock.Advance(milliseconds(10 * slowness()));
        return 0.010 * slowness();
      },
      0.005);
  ASSERT_TRUE(measured.ok());
  // As it would be where the yardstick takes 5 ms: half of 30.
  EXPECT_NEAR(measured->seconds, 0.015, 1e-9);
  EXPECT_LT(measured->spread, 1e-6);
}

TEST(MeasuringTime, ShortWorkIsRunOftenBetweenTwoLooksAtTheYardstick) {
  VirtualClock clock;
  MeasuringTime time(clock, milliseconds(1000), 1);
  int runs = 0;
  int looks = 0;
  const absl::StatusOr<Measured> measured = time.MeasureAgainst(
      [&] {
        ++runs;
        clock.Advance(milliseconds(1));
        return absl::OkStatus();
      },
      [&]() -> absl::StatusOr<double> {
        ++looks;
        clock.Advance(milliseconds(20));
        return 0.020;
      },
      0.020);
  ASSERT_TRUE(measured.ok());
  EXPECT_NEAR(measured->seconds, 0.001, 1e-9);
  EXPECT_NEAR(static_cast<double>(runs) / looks, 20, 2);
}

TEST(MeasuringTime, AYardstickThatFailsEndsIt) {
  VirtualClock clock;
  MeasuringTime time(clock, milliseconds(100), 1);
  const absl::StatusOr<Measured> measured = time.MeasureAgainst(
      [] { return absl::OkStatus(); },
      []() -> absl::StatusOr<double> { return absl::UnavailableError("no yardstick"); }, 1.0);
  EXPECT_EQ(measured.status().message(), "no yardstick");
}

TEST(MeasuringTime, WhatOneDoesNotUseTheOthersHave) {
  VirtualClock clock;
  MeasuringTime time(clock, milliseconds(300), 3);
  Work slow(clock, {90, 90});
  EXPECT_EQ(time.Measure([&] { return slow.Run(); })->repeats, 1);
  EXPECT_EQ(clock.Now(), milliseconds(180));
  Work quick(clock, {10});
  // 60 of 120 left: the warm-up and five runs.
  EXPECT_EQ(time.Measure([&] { return quick.Run(); })->repeats, 5);
  EXPECT_EQ(clock.Now(), milliseconds(240));
  EXPECT_EQ(time.Measure([&] { return quick.Run(); })->repeats, 5);
  EXPECT_EQ(clock.Now(), milliseconds(300));
}

TEST(MeasuringTime, WithoutTimeLeftEachIsStillMeasuredOnce) {
  VirtualClock clock;
  MeasuringTime time(clock, milliseconds(0), 2);
  Work work(clock, {70});
  for (int i = 0; i < 2; ++i) {
    const absl::StatusOr<Measured> measured = time.Measure([&] { return work.Run(); });
    EXPECT_EQ(measured->repeats, 1);
    EXPECT_DOUBLE_EQ(measured->seconds, 0.07);
    EXPECT_EQ(measured->spread, 0);
  }
  EXPECT_EQ(work.runs(), 4u);
}

TEST(MeasuringTime, WorkTooQuickForTheClockTakesANanosecondAndEnds) {
  VirtualClock clock;
  MeasuringTime time(clock, milliseconds(1), 1);
  Work work(clock, {0});
  const absl::StatusOr<Measured> measured = time.Measure([&] { return work.Run(); });
  EXPECT_EQ(measured->repeats, MeasuringTime::kMostRepeats);
  EXPECT_DOUBLE_EQ(measured->seconds, 1e-9);
}

TEST(MeasuringTime, ARunThatSleptForSecondsStillFitsAProfile) {
  VirtualClock clock;
  MeasuringTime time(clock, milliseconds(10), 1);
  Work work(clock, {0, 0, 0, 5000});
  const absl::StatusOr<Measured> measured = time.Measure([&] { return work.Run(); });
  EXPECT_EQ(measured->repeats, 3);
  EXPECT_EQ(measured->spread, kMostSpread);
}

// Of many runs a few that were held up do not count.
TEST(MeasuringTime, TheSpreadOfManyRunsIsBetweenTheQuartiles) {
  VirtualClock clock;
  MeasuringTime time(clock, milliseconds(1000), 1);
  Work work(clock, {10, 10, 10, 10, 10, 10, 12, 12, 12, 8, 8, 8, 900});
  const absl::StatusOr<Measured> measured = time.Measure([&] { return work.Run(); });
  EXPECT_EQ(measured->repeats, 12);
  EXPECT_DOUBLE_EQ(measured->seconds, 0.01);
  EXPECT_DOUBLE_EQ(measured->spread, 0.2);
}

TEST(MeasuringTime, AnErrorEndsIt) {
  VirtualClock clock;
  for (const int failing : {0, 1, 2}) {
    MeasuringTime time(clock, milliseconds(100), 1);
    int runs = 0;
    const absl::StatusOr<Measured> measured = time.Measure([&]() -> absl::Status {
      clock.Advance(milliseconds(1));
      return runs++ == failing ? absl::OutOfRangeError("x") : absl::OkStatus();
    });
    EXPECT_TRUE(absl::IsOutOfRange(measured.status()));
    EXPECT_EQ(runs, failing + 1);
  }
}

}  // namespace
}  // namespace horizon
