// The measurement of the machine's speed before a run, with a clock that sets how long each piece
// of work takes.
#include "training/measure_speed_before_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <stop_token>
#include <string>

#include "planner/profile/yardstick.h"
#include "tests/training/small_run.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Each call of Now advances the time: by `slow` for the first `slow_calls` calls, then by `usual`.
class PacedClock final : public Clock {
 public:
  PacedClock(int slow_calls, Nanoseconds slow, Nanoseconds usual)
      : slow_calls_(slow_calls), slow_(slow), usual_(usual) {}
  Nanoseconds Now() override { return now_ += calls_++ < slow_calls_ ? slow_ : usual_; }
  bool WaitUntil(Nanoseconds, std::stop_token) override { return true; }

 private:
  const int slow_calls_;
  const Nanoseconds slow_;
  const Nanoseconds usual_;
  int calls_ = 0;
  Nanoseconds now_{0};
};

constexpr std::chrono::milliseconds kUsual{1};
constexpr std::chrono::milliseconds kBusy{500};

class MeasureSpeedBeforeRunTest : public testing::Test {
 protected:
  MeasureSpeedBeforeRunTest() {
    profile_.host.cores = 1;
    // The rate of a yardstick run that takes kUsual.
    profile_.host.yardstick_flops_per_second = Figure{.value = Yardstick::kFlops * 1000};
    profile_.host.yardstick_bytes_per_second = Figure{.value = 1};
  }
  ~MeasureSpeedBeforeRunTest() override { std::fclose(file_); }

  MachineSpeed Measure(Clock& clock) {
    const absl::StatusOr<MachineSpeed> speed =
        MeasureSpeedBeforeRun(run_.io(), clock, log_, run_.model().config.spec, profile_);
    EXPECT_TRUE(speed.ok()) << speed.status();
    return speed.value_or(MachineSpeed{.gemm = -1, .memory = -1});
  }
  std::string LogText() {
    std::string text(10000, ' ');
    std::rewind(file_);
    text.resize(std::fread(text.data(), 1, text.size(), file_));
    return text;
  }

  SmallRun run_;
  HardwareProfile profile_;
  std::FILE* const file_ = std::tmpfile();
  Log log_{file_, LogLevel::kInfo, LogStyle::kPlain};
};

TEST_F(MeasureSpeedBeforeRunTest, IsTheFirstMeasurementWhereTheMachineIsFree) {
  PacedClock clock(0, kBusy, kUsual);
  const MachineSpeed speed = Measure(clock);
  EXPECT_NEAR(speed.gemm, 1, 1e-9);
  EXPECT_EQ(speed.memory, speed.gemm) << "a small run has no memory to measure in";
  EXPECT_THAT(LogText(),
              HasSubstr("this machine is expected to compute at 100 % of the profile's speed"));
}

// With this clock a measurement ends after a handful of calls of Now.
TEST_F(MeasureSpeedBeforeRunTest, ABusyMomentIsMeasuredAgain) {
  PacedClock clock(6, kBusy, kUsual);
  const MachineSpeed speed = Measure(clock);
  EXPECT_GT(speed.gemm, 0.9);
  EXPECT_THAT(LogText(), Not(HasSubstr("busy")));
}

TEST_F(MeasureSpeedBeforeRunTest, AMachineThatStaysBusyIsPlannedFromTheProfileAndThatIsSaid) {
  PacedClock clock(1000000, kBusy, kUsual);
  const MachineSpeed speed = Measure(clock);
  EXPECT_EQ(speed.gemm, 1);
  EXPECT_EQ(speed.memory, 1);
  const std::string log = LogText();
  EXPECT_THAT(log, HasSubstr("warning: this machine is busy: in 3 looks it computed at 0 %"));
  EXPECT_THAT(log, HasSubstr("the plan is made from the profile"));
}

// A slower machine is a slower machine.
TEST_F(MeasureSpeedBeforeRunTest, ASlowerMachineIsNoBusyOne) {
  PacedClock clock(1000000, std::chrono::microseconds(1600), kUsual);
  EXPECT_NEAR(Measure(clock).gemm, 1 / 1.6, 0.01);
}

TEST_F(MeasureSpeedBeforeRunTest, AProfileWithoutYardsticksIsTakenAsItIs) {
  profile_.host.yardstick_flops_per_second.reset();
  PacedClock clock(1000000, kBusy, kUsual);
  EXPECT_EQ(Measure(clock).gemm, 1);
  EXPECT_EQ(LogText(), "");
}

}  // namespace
}  // namespace horizon
