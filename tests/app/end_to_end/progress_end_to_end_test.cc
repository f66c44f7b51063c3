// How a run shows its progress: redrawn in place on a terminal, plain lines elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/text/columns.h"
#include "tests/app/support/pty_program.h"
#include "tests/app/support/run_program.h"
#include "tests/app/support/watched_run.h"

namespace horizon {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kErase[] = "\r\x1b[K";

// The lines that a terminal shows in the end, of a text that moves the cursor only to the begin of
// its line and erases from there. Colours are left out.
std::vector<std::string> Shown(const std::string& text) {
  std::vector<std::string> lines = {""};
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') {
      lines.emplace_back();
    } else if (text.compare(i, 4, kErase) == 0) {
      lines.back().clear();
      i += 3;
    } else if (text[i] == '\x1b') {
      i = text.find('m', i);
    } else if (text[i] != '\r') {
      lines.back() += text[i];
    }
  }
  return lines;
}

// What was drawn and erased again or ended: the progress lines among it begin with "step ".
std::vector<std::string> Drawn(const std::string& text) {
  std::vector<std::string> drawn;
  for (size_t at = text.find(kErase); at != std::string::npos; at = text.find(kErase, at)) {
    at += 4;
    const std::string line = text.substr(at, text.find_first_of("\r\n", at) - at);
    if (line.starts_with("step ")) drawn.push_back(line);
  }
  return drawn;
}

std::string Train(const std::vector<std::string>& environment, int columns) {
  PrepareWatchedRun();
  PtyProgram program({"train", "--config", "job.yaml", "--steps", "600", "--save-every", "100"},
                     environment, columns, 24);
  EXPECT_EQ(program.AwaitEnd(), 0) << program.text();
  return program.text();
}

TEST(TrainProgress, IsOneLineOnATerminalWhichFitsAndIsNotTornByMessages) {
  for (const int columns : {44, 80, 200}) {
    SCOPED_TRACE(columns);
    const std::string text = Train({"TERM=xterm", "LANG=C.UTF-8"}, columns);
    const std::vector<std::string> drawn = Drawn(text);
    ASSERT_GT(drawn.size(), 1u) << text;
    for (const std::string& line : drawn) {
      EXPECT_LT(ColumnsOf(line), columns) << line;
      EXPECT_THAT(line, HasSubstr(" loss "));
      EXPECT_TRUE(line.ends_with(" left")) << line;
      EXPECT_EQ(line.find("predicted") != std::string::npos, columns >= 80) << line;
    }
    const std::vector<std::string> shown = Shown(text);
    // Of all that was drawn the last step's line stays.
    EXPECT_EQ(std::count_if(shown.begin(), shown.end(),
                            [](const std::string& line) { return line.starts_with("step "); }),
              1);
    // The epoch is left out where the line would not fit.
    EXPECT_THAT(shown, Contains(::testing::MatchesRegex("step 600/600  (epoch 26.7  )?loss .*")));
    // A message is broken between words where the terminal is narrow.
    EXPECT_THAT(shown, Contains(StartsWith("info: saved step 100")));
    for (const std::string& line : shown) {
      if (!line.starts_with("info: ")) continue;
      EXPECT_LT(ColumnsOf(line), columns) << line;
    }
    EXPECT_THAT(shown, Each(Not(::testing::ContainsRegex("info:.*step [0-9]+/600"))));
  }
}

TEST(TrainProgress, IsPlainLinesWhereTheTerminalIsToBePlain) {
  for (const std::vector<std::string>& environment :
       {std::vector<std::string>{"TERM=xterm", "NO_COLOR=1"}, {"TERM=dumb"}, {}}) {
    const std::string text = Train(environment, 80);
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    EXPECT_THAT(text, HasSubstr("info: step 1/600  epoch 0.0444  loss "));
    EXPECT_THAT(text, HasSubstr("info: step 600/600  epoch 26.7  loss "));
  }
}

TEST(TrainProgress, IsPlainLinesInAFile) {
  PrepareWatchedRun();
  const ProcessResult result =
      RunShell("TERM=xterm \"$horizon\" train --config job.yaml --steps 50 >answer");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, Not(HasSubstr("\x1b")));
  EXPECT_THAT(result.err, Not(HasSubstr("\r")));
  EXPECT_THAT(result.err, HasSubstr("\ninfo: step 1/50  epoch 0.0444  loss "));
  EXPECT_THAT(result.err, HasSubstr("\ninfo: step 50/50  epoch 2.22  loss "));
}

}  // namespace
}  // namespace horizon
