// Answers and messages fit the terminal that shows them; files and pipes get whole lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/text/columns.h"
#include "tests/app/support/pty_program.h"
#include "tests/app/support/run_program.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The lines that a terminal of so many columns shows, without colours.
std::vector<std::string> Shown(const std::vector<std::string>& arguments, int columns,
                               int exit_code = 0) {
  WriteFile("here", "");  // makes the folder
  PtyProgram program(arguments, {"TERM=xterm", "LANG=C.UTF-8", "HOME=/nowhere"}, columns, 40);
  EXPECT_EQ(program.AwaitEnd(), exit_code) << program.text();
  std::vector<std::string> lines = {""};
  const std::string& text = program.text();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') {
      lines.emplace_back();
    } else if (text[i] == '\x1b') {
      i = text.find_first_of("mKJA", i);
    } else if (text[i] != '\r') {
      lines.back() += text[i];
    }
  }
  return lines;
}

int Widest(const std::vector<std::string>& lines) {
  int widest = 0;
  for (const std::string& line : lines) widest = std::max(widest, ColumnsOf(line));
  return widest;
}

std::string Joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// A message that is far wider than a terminal: all names of machines.
TEST(TerminalWidth, AMessageIsBrokenBetweenWords) {
  const std::vector<std::string> arguments = {"plan", "--model", "qwen2.5-7b", "--machine",
                                              "nosuch"};
  const std::vector<std::string> lines = Shown(arguments, 80, 2);
  EXPECT_LT(Widest(lines), 80);
  EXPECT_GT(lines.size(), 3u);
  EXPECT_THAT(lines[0], HasSubstr("error: no machine \"nosuch\""));
  EXPECT_TRUE(lines[1].starts_with("  ")) << lines[1];
  EXPECT_LT(Shown(arguments, 160, 2).size(), lines.size());
  const std::string plain = RunShell("\"$horizon\" plan --model qwen2.5-7b --machine nosuch").err;
  EXPECT_EQ(std::count(plain.begin(), plain.end(), '\n'), 1) << plain;
}

TEST(TerminalWidth, TablesFitEightyColumnsAndShowTheirVerdicts) {
  const std::vector<std::string> lines =
      Shown({"experiments", "depth_scaling", "--output", "ex"}, 80);
  EXPECT_LE(Widest(lines), 80);
  EXPECT_THAT(Joined(lines), AllOf(HasSubstr(" verdict\n"), HasSubstr("misses 1 of 14 rows")));
  // A wide one shows every count, as a file does.
  EXPECT_THAT(Joined(Shown({"experiments", "depth_scaling", "--output", "ex"}, 140)),
              HasSubstr("judged  hold  close  miss"));
  EXPECT_THAT(RunShell("\"$horizon\" experiments depth_scaling --output ex").out,
              HasSubstr("judged  hold  close  miss"));
  EXPECT_LE(Widest(Shown({"machines"}, 80)), 80);
  EXPECT_LE(Widest(Shown({"machines", "gh200"}, 80)), 80);
}

TEST(TerminalWidth, ACheckOfDataFitsAndUsesWhatThereIs) {
  std::string lines;
  for (int i = 0; i < 30; ++i) {
    lines += R"({"query": "What is one and one, and one more?", "response": "It is three."})";
    lines += "\n";
  }
  WriteFile("q.jsonl", lines + "{\"query\": 1}\n");
  const std::vector<std::string> arguments = {"data", "check",      "q.jsonl", "--tokenizer",
                                              "byte", "--sequence", "64"};
  EXPECT_LE(Widest(Shown(arguments, 80)), 80);
  EXPECT_THAT(Joined(Shown(arguments, 140)), HasSubstr(std::string(60, '#')));
  EXPECT_LE(Widest(Shown(arguments, 60)), 60);
}

}  // namespace
}  // namespace horizon
