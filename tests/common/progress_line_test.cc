#include "common/progress_line.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace horizon {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const std::vector<LinePart>& Parts() {
  static const std::vector<LinePart> kParts = {
      {"step 7"}, {"  loss 2.5", 1}, {"  (predicted)", 3}, {"  10 GiB", 2}, {"  5 s left"}};
  return kParts;
}

TEST(FitLine, LeavesOutWhatMattersLeastUntilTheRestFits) {
  EXPECT_EQ(FitLine(Parts(), 80), "step 7  loss 2.5  (predicted)  10 GiB  5 s left");
  EXPECT_EQ(FitLine(Parts(), 47), "step 7  loss 2.5  (predicted)  10 GiB  5 s left");
  EXPECT_EQ(FitLine(Parts(), 46), "step 7  loss 2.5  10 GiB  5 s left");
  EXPECT_EQ(FitLine(Parts(), 33), "step 7  loss 2.5  5 s left");
  EXPECT_EQ(FitLine(Parts(), 20), "step 7  5 s left");
  EXPECT_EQ(FitLine(Parts(), 3), "step 7  5 s left");  // for whoever shows it to cut
}

TEST(FitLine, CountsWideCharactersAndLetsNobodyMoveTheCursor) {
  EXPECT_EQ(FitLine({{"模型"}, {"ab", 1}}, 6), "模型ab");
  EXPECT_EQ(FitLine({{"模型"}, {"ab", 1}}, 5), "模型");
  EXPECT_EQ(FitLine({{"a\x1b[2J"}}, 80), "a\\x1b[2J");
}

class ProgressLineTest : public testing::Test {
 protected:
  ~ProgressLineTest() override {
    std::fclose(stream_);
    std::free(text_);
  }
  std::string Taken() {
    std::fflush(stream_);
    const std::string all(text_, size_);
    return all.substr(std::exchange(taken_, all.size()));
  }

  VirtualClock clock_;
  int columns_ = 80;
  char* text_ = nullptr;
  size_t size_ = 0;
  size_t taken_ = 0;
  std::FILE* const stream_ = ::open_memstream(&text_, &size_);
  Log terminal_{stream_, LogLevel::kInfo, LogStyle::kTerminal, [this] { return columns_; }};
  Log file_{stream_, LogLevel::kInfo, LogStyle::kPlain};
};

TEST_F(ProgressLineTest, ATerminalIsRedrawnTenTimesASecondWithinItsWidth) {
  ProgressLine line(terminal_, clock_);
  EXPECT_TRUE(line.IsDue());
  line.Show(Parts());
  EXPECT_FALSE(line.IsDue());
  clock_.Advance(milliseconds(100));
  EXPECT_TRUE(line.IsDue());
  columns_ = 34;
  line.Show(Parts());
  columns_ = 8;
  line.Finish(Parts());
  EXPECT_EQ(Taken(),
            "\r\x1b[Kstep 7  loss 2.5  (predicted)  10 GiB  5 s left"
            "\x1b[1A\r\x1b[Jstep 7  loss 2.5  5 s left"
            "\x1b[3A\r\x1b[Jstep 7 \n");
}

TEST_F(ProgressLineTest, AFileGetsWholeMessagesNowAndThen) {
  ProgressLine line(file_, clock_);
  EXPECT_FALSE(line.IsDue());
  clock_.Advance(seconds(10));
  EXPECT_TRUE(line.IsDue());
  line.Show(Parts());
  EXPECT_FALSE(line.IsDue());
  line.Finish({{"done"}});
  EXPECT_EQ(Taken(), "info: step 7  loss 2.5  (predicted)  10 GiB  5 s left\ninfo: done\n");
}

TEST_F(ProgressLineTest, AnUnfinishedLineDisappears) {
  {
    ProgressLine line(terminal_, clock_);
    line.Show({{"half"}});
  }
  { const ProgressLine unused(terminal_, clock_); }
  terminal_.Error("why");
  EXPECT_EQ(Taken(), "\r\x1b[Khalf\r\x1b[K\r\x1b[Kerror: why\n");
}

}  // namespace
}  // namespace horizon
