#include "common/clock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace horizon {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(RealClock, NeverGoesBackAndSleepsAtLeastAsLongAsAsked) {
  RealClock clock;
  Nanoseconds last = clock.Now();
  for (int i = 0; i < 1000; ++i) {
    const Nanoseconds now = clock.Now();
    ASSERT_GE(now, last);
    last = now;
  }
  const Nanoseconds before = clock.Now();
  EXPECT_TRUE(clock.SleepFor(milliseconds(2)));
  EXPECT_GE(clock.Now() - before, milliseconds(2));
}

TEST(RealClock, APassedDeadlineDoesNotBlock) {
  RealClock clock;
  EXPECT_TRUE(clock.WaitUntil(Nanoseconds(0)));
  EXPECT_TRUE(clock.WaitUntil(clock.Now()));
  EXPECT_TRUE(clock.SleepFor(Nanoseconds(0)));
  EXPECT_TRUE(clock.SleepFor(seconds(-5)));
  EXPECT_TRUE(clock.SleepFor(Nanoseconds::min()));
}

// Would hang, or return true, if "for ever" overflowed or the request were missed.
TEST(RealClock, ARequestToStopEndsAWaitForEver) {
  RealClock clock;
  std::atomic<int> begun = 0;
  std::atomic<bool> reached = true;
  std::jthread sleeper([&](const std::stop_token& stop) {
    begun = 1;
    begun.notify_all();
    reached = clock.SleepFor(Nanoseconds::max(), stop);
  });
  begun.wait(0);
  sleeper.request_stop();
  sleeper.join();
  EXPECT_FALSE(reached);
}

TEST(RealClock, AStopRequestedBeforeIsSeenAtOnce) {
  RealClock clock;
  std::stop_source source;
  source.request_stop();
  EXPECT_FALSE(clock.SleepFor(Nanoseconds::max(), source.get_token()));
  EXPECT_TRUE(clock.WaitUntil(Nanoseconds(0), source.get_token()));
}

TEST(VirtualClock, MovesOnlyByHand) {
  VirtualClock clock;
  EXPECT_EQ(clock.Now(), Nanoseconds(0));
  clock.Advance(seconds(3));
  clock.Advance(Nanoseconds(0));
  EXPECT_EQ(clock.Now(), seconds(3));
  EXPECT_TRUE(clock.WaitUntil(seconds(3)));
  EXPECT_TRUE(clock.WaitUntil(seconds(2)));
  EXPECT_TRUE(clock.SleepFor(Nanoseconds(0)));
}

TEST(VirtualClock, ASleeperWakesAtItsDeadlineAndNotBefore) {
  VirtualClock clock;
  std::atomic<bool> woken = false;
  std::jthread sleeper([&] {
    EXPECT_TRUE(clock.SleepFor(seconds(10)));
    EXPECT_GE(clock.Now(), seconds(10));
    woken = true;
  });
  clock.AwaitSleepers(1);
  clock.Advance(seconds(10) - Nanoseconds(1));
  // Still counted as asleep: one nanosecond is missing.
  clock.AwaitSleepers(1);
  EXPECT_FALSE(woken);
  clock.Advance(Nanoseconds(1));
  sleeper.join();
  EXPECT_TRUE(woken);
}

TEST(VirtualClock, OneAdvanceWakesOnlyThoseItReaches) {
  VirtualClock clock;
  std::atomic<int> woken = 0;
  const auto sleep = [&](Nanoseconds duration) {
    clock.SleepFor(duration);
    ++woken;
  };
  std::jthread a(sleep, seconds(1));
  std::jthread b(sleep, seconds(2));
  std::jthread c(sleep, seconds(3));
  clock.AwaitSleepers(3);
  clock.Advance(seconds(2));
  a.join();
  b.join();
  clock.AwaitSleepers(1);
  EXPECT_EQ(woken, 2);
  clock.Advance(seconds(1));
  c.join();
  EXPECT_EQ(woken, 3);
}

TEST(VirtualClock, ARequestToStopEndsAWait) {
  VirtualClock clock;
  std::atomic<bool> reached = true;
  std::jthread sleeper(
      [&](const std::stop_token& stop) { reached = clock.SleepFor(Nanoseconds::max(), stop); });
  clock.AwaitSleepers(1);
  sleeper.request_stop();
  sleeper.join();
  EXPECT_FALSE(reached);
}

TEST(VirtualClock, SleepCanItselfAdvanceTheTime) {
  VirtualClock clock(VirtualClock::Mode::kSleepAdvances);
  EXPECT_TRUE(clock.SleepFor(seconds(5)));
  EXPECT_EQ(clock.Now(), seconds(5));
  EXPECT_TRUE(clock.WaitUntil(seconds(4)));
  EXPECT_EQ(clock.Now(), seconds(5));
  std::stop_source source;
  source.request_stop();
  EXPECT_FALSE(clock.SleepFor(seconds(1), source.get_token()));
  EXPECT_EQ(clock.Now(), seconds(5));
}

}  // namespace
}  // namespace horizon
