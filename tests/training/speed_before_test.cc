// Looks at the machine's speed before a run, on a clock that says how long each took.
#include "training/speed_before.h"

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

// Every question is `step` later than the one before; for the first questions it is `first_step`.
class PacedClock final : public Clock {
 public:
  PacedClock(int slow_questions, Nanoseconds slow, Nanoseconds usual)
      : slow_questions_(slow_questions), slow_(slow), usual_(usual) {}
  Nanoseconds Now() override { return now_ += asked_++ < slow_questions_ ? slow_ : usual_; }
  bool WaitUntil(Nanoseconds, std::stop_token) override { return true; }

 private:
  const int slow_questions_;
  const Nanoseconds slow_;
  const Nanoseconds usual_;
  int asked_ = 0;
  Nanoseconds now_{0};
};

constexpr std::chrono::milliseconds kUsual{1};
constexpr std::chrono::milliseconds kBusy{500};

class SpeedBeforeTest : public testing::Test {
 protected:
  SpeedBeforeTest() {
    profile_.host.cores = 1;
    // What a piece of work that takes kUsual makes.
    profile_.host.yardstick_flops_per_second = Figure{.value = Yardstick::kFlops * 1000};
    profile_.host.yardstick_bytes_per_second = Figure{.value = 1};
  }
  ~SpeedBeforeTest() override { std::fclose(file_); }

  MachineSpeed Look(Clock& clock) {
    const absl::StatusOr<MachineSpeed> speed =
        MeasureSpeedBefore(run_.io(), clock, log_, run_.model().config.spec, profile_);
    EXPECT_TRUE(speed.ok()) << speed.status();
    return speed.value_or(MachineSpeed{.products = -1, .memory = -1});
  }
  std::string Said() {
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

TEST_F(SpeedBeforeTest, IsTheFirstLooksWhereTheMachineIsFree) {
  PacedClock clock(0, kBusy, kUsual);
  const MachineSpeed speed = Look(clock);
  EXPECT_NEAR(speed.products, 1, 1e-9);
  EXPECT_EQ(speed.memory, speed.products) << "a small run has no memory to look in";
  EXPECT_THAT(Said(), HasSubstr("this machine now computes at 100 % of the profile's speed"));
}

// A look on a clock that leaps takes a handful of questions.
TEST_F(SpeedBeforeTest, ABusyMomentIsLookedAtAgain) {
  PacedClock clock(6, kBusy, kUsual);
  const MachineSpeed speed = Look(clock);
  EXPECT_GT(speed.products, 0.9);
  EXPECT_THAT(Said(), Not(HasSubstr("busy")));
}

TEST_F(SpeedBeforeTest, AMachineThatStaysBusyIsPlannedFromTheProfileAndThatIsSaid) {
  PacedClock clock(1000000, kBusy, kUsual);
  const MachineSpeed speed = Look(clock);
  EXPECT_EQ(speed.products, 1);
  EXPECT_EQ(speed.memory, 1);
  const std::string said = Said();
  EXPECT_THAT(said, HasSubstr("warning: this machine is busy: in 3 looks it computed at 0 %"));
  EXPECT_THAT(said, HasSubstr("the plan is made from the profile"));
}

// A slower machine is a slower machine.
TEST_F(SpeedBeforeTest, ASlowerMachineIsNoBusyOne) {
  PacedClock clock(1000000, std::chrono::microseconds(1600), kUsual);
  EXPECT_NEAR(Look(clock).products, 1 / 1.6, 1e-9);
}

TEST_F(SpeedBeforeTest, AProfileWithoutYardsticksIsTakenAsItIs) {
  profile_.host.yardstick_flops_per_second.reset();
  PacedClock clock(1000000, kBusy, kUsual);
  EXPECT_EQ(Look(clock).products, 1);
  EXPECT_EQ(Said(), "");
}

}  // namespace
}  // namespace horizon
