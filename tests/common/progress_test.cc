#include "common/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "common/clock.h"
#include "common/log.h"

namespace horizon {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// A progress on a log that writes to memory.
class ProgressTest : public testing::Test {
 protected:
  ~ProgressTest() override {
    std::fclose(stream_);
    std::free(text_);
  }
  // What was written since the last call.
  std::string Taken() {
    std::fflush(stream_);
    const std::string all(text_, size_);
    return all.substr(std::exchange(taken_, all.size()));
  }

  VirtualClock clock_;
  char* text_ = nullptr;
  size_t size_ = 0;
  size_t taken_ = 0;
  std::FILE* const stream_ = ::open_memstream(&text_, &size_);
  Log terminal_{stream_, LogLevel::kInfo, LogStyle::kTerminal};
  Log file_{stream_, LogLevel::kInfo, LogStyle::kPlain};
};

TEST_F(ProgressTest, ATerminalLineTellsShareRateAndTimeLeft) {
  Progress progress(terminal_, clock_, {.what = "reading", .total = 200});
  progress.Update(0);
  EXPECT_EQ(Taken(), "\r\x1b[Kreading: 0 of 200, 0 %");
  clock_.Advance(seconds(10));
  progress.Update(50);
  EXPECT_EQ(Taken(), "\r\x1b[Kreading: 50 of 200, 25 %, 5/s, 30 s left");
  clock_.Advance(seconds(30));
  progress.Update(200);
  EXPECT_EQ(Taken(), "\r\x1b[Kreading: 200 of 200, 100 %, 5/s");
  progress.Finish(200);
  EXPECT_EQ(Taken(), "\r\x1b[Kreading: 200 in 40 s, 5/s\n");
  progress.Finish(200);
  progress.Update(200);
  EXPECT_EQ(Taken(), "");
}

TEST_F(ProgressTest, BytesAreShownWithTheirUnits) {
  Progress progress(
      terminal_, clock_,
      {.what = "loading weights", .total = uint64_t{12} << 30, .unit = ProgressUnit::kBytes});
  clock_.Advance(seconds(2));
  progress.Update(uint64_t{3} << 30);
  // 3 GiB in 2 s are 1.61 GB/s; 9 GiB are left.
  EXPECT_THAT(Taken(), testing::AllOf(testing::HasSubstr("loading weights: 3 GiB of 12 GiB, 25 %"),
                                      testing::HasSubstr("1.61 GB/s, 6 s left")));
}

TEST_F(ProgressTest, ATerminalIsRedrawnAtMostTenTimesASecond) {
  Progress progress(terminal_, clock_, {.what = "x", .total = 100'000});
  for (uint64_t i = 0; i < 10'000; ++i) {
    progress.Update(i);
    clock_.Advance(milliseconds(1));
  }
  // Ten seconds: at 0.0, 0.1, ... 9.9.
  const std::string text = Taken();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\r'), 100);
}

TEST_F(ProgressTest, AFileGetsALineEachInterval) {
  Progress progress(file_, clock_, {.what = "x", .total = 100});
  for (uint64_t second = 0; second < 35; ++second) {
    progress.Update(second);
    clock_.Advance(seconds(1));
  }
  EXPECT_EQ(Taken(),
            "info: x: 10 of 100, 10 %, 1/s, 1 min 30 s left\n"
            "info: x: 20 of 100, 20 %, 1/s, 1 min 20 s left\n"
            "info: x: 30 of 100, 30 %, 1/s, 1 min 10 s left\n");
  progress.Finish(35);
  EXPECT_EQ(Taken(), "info: x: 35 in 35 s, 1/s\n");
}

TEST_F(ProgressTest, AnUnknownTotalHasNoShareAndNoTimeLeft) {
  Progress progress(terminal_, clock_, {.what = "x"});
  clock_.Advance(seconds(4));
  progress.Update(1'234'568);
  EXPECT_EQ(Taken(), "\r\x1b[Kx: 1,234,568, 308642/s");
}

TEST_F(ProgressTest, MoreThanTheTotalAndNoTimeAtAllAreHarmless) {
  Progress progress(terminal_, clock_, {.what = "x", .total = 10});
  progress.Update(5);
  EXPECT_EQ(Taken(), "\r\x1b[Kx: 5 of 10, 50 %");
  clock_.Advance(seconds(1));
  progress.Update(25);
  EXPECT_EQ(Taken(), "\r\x1b[Kx: 25 of 10, 100 %, 25/s");
}

TEST_F(ProgressTest, AnAbsurdTimeLeftIsNotShown) {
  Progress progress(terminal_, clock_, {.what = "x", .total = ~uint64_t{0}});
  clock_.Advance(hours(1));
  progress.Update(1);
  EXPECT_EQ(Taken(), "\r\x1b[Kx: 1 of 18,446,744,073,709,551,615, 0 %, 0.000278/s");
}

TEST_F(ProgressTest, WorkGivenUpLeavesNoLine) {
  {
    Progress progress(terminal_, clock_, {.what = "x"});
    progress.Update(1);
    Taken();
  }
  EXPECT_EQ(Taken(), "\r\x1b[K");
  { const Progress unused(terminal_, clock_, {.what = "x"}); }
  { const Progress plain(file_, clock_, {.what = "x"}); }
  EXPECT_EQ(Taken(), "");
}

TEST_F(ProgressTest, AMessageStandsAboveTheLine) {
  Progress progress(terminal_, clock_, {.what = "work", .total = 4});
  progress.Update(1);
  terminal_.Warning("a doubt");
  clock_.Advance(seconds(1));
  progress.Finish(4);
  EXPECT_EQ(Taken(),
            "\r\x1b[Kwork: 1 of 4, 25 %"
            "\r\x1b[Kwarning: a doubt\nwork: 1 of 4, 25 %"
            "\r\x1b[Kwork: 4 in 1 s, 4/s\n");
}

TEST(RoughDuration, NamesTheTwoLargestUnits) {
  EXPECT_EQ(RoughDuration(seconds(-1)), "0 s");
  EXPECT_EQ(RoughDuration(milliseconds(499)), "0 s");
  EXPECT_EQ(RoughDuration(milliseconds(59'499)), "59 s");
  EXPECT_EQ(RoughDuration(milliseconds(59'500)), "1 min 00 s");
  EXPECT_EQ(RoughDuration(seconds(187)), "3 min 07 s");
  EXPECT_EQ(RoughDuration(seconds(3599)), "59 min 59 s");
  EXPECT_EQ(RoughDuration(hours(2) + minutes(5)), "2 h 05 min");
  EXPECT_EQ(RoughDuration(hours(24 * 3 + 4)), "3 d 04 h");
}

}  // namespace
}  // namespace horizon
