// `horizon top` as a person runs it: on a terminal, in a pipe, on folders that are no run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <string>

#include "common/documents/json.h"
#include "common/text/str_cat.h"
#include "tests/app/support/golden_run.h"
#include "tests/app/support/pty_program.h"
#include "tests/app/support/run_program.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Ends a picture.
constexpr char kDrawn[] = "\x1b[H";
constexpr char kLeave[] = "\x1b[?25h\x1b[?1049l";

class TopCommand : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    PrepareGolden("llama");
    const ProcessResult result =
        RunShell(StrCat("\"$horizon\" train --machine cpu-desktop --threads 2 ", kGoldenRun));
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
};

TEST_F(TopCommand, PrintsOnePictureWhereThereIsNoTerminal) {
  const ProcessResult result = RunShell("LC_ALL=C \"$horizon\" top run");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(StartsWith("horizon top  run"), HasSubstr("complete\n"),
                    HasSubstr("step 8 of 8, epoch 1  ####"), HasSubstr("100 %"),
                    HasSubstr("compute    predicted"), HasSubstr("measured"), HasSubstr("\nhost "),
                    HasSubstr("\nloss  "), HasSubstr("\ntokens/s  "), Not(HasSubstr("\x1b")),
                    Not(HasSubstr("\xe2"))));
  const ProcessResult blocks = RunShell("LC_ALL=C.UTF-8 \"$horizon\" top run --once");
  EXPECT_THAT(blocks.out, AllOf(HasSubstr("step 8 of 8, epoch 1  ████"), Not(HasSubstr("\x1b"))));
}

TEST_F(TopCommand, TheFiguresAreThoseOfRunJson) {
  const ProcessResult shown = RunShell("\"$horizon\" top run --json");
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  const absl::StatusOr<Document> view = ParseJson("view", shown.out);
  ASSERT_TRUE(view.ok()) << view.status();
  const absl::StatusOr<Document> run = ParseJson("run.json", RunShell("cat run/run.json").out);
  ASSERT_TRUE(run.ok());
  for (const char* key : {"step_seconds", "tokens_per_second", "host_bytes", "device_bytes"}) {
    for (const char* side : {"predicted", "measured", "error"}) {
      EXPECT_EQ(NumberAt(*view->root.Find("figures")->Find(key), side),
                NumberAt(*run->root.Find(key), side))
          << key << " " << side;
    }
  }
}

TEST_F(TopCommand, WhatIsNoRunIsNamed) {
  const ProcessResult nothing = RunShell("\"$horizon\" top nothing");
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.err, HasSubstr("nothing"));
  const ProcessResult model = RunShell("\"$horizon\" top model");
  EXPECT_EQ(model.exit_code, 2);
  EXPECT_THAT(model.err, HasSubstr("is no run folder"));
  const ProcessResult torn = RunShell(
      "rm -rf torn && cp -r run torn && head -c 100 run/timelines.json > torn/timelines.json && "
      "\"$horizon\" top torn");
  EXPECT_EQ(torn.exit_code, 4) << torn.err;
  EXPECT_THAT(torn.err, AllOf(HasSubstr("torn"), HasSubstr("timelines.json")));
}

TEST_F(TopCommand, OnATerminalItDrawsInPlaceUntilQ) {
  PtyProgram program({"top", "run", "--interval", "1"}, {"TERM=xterm", "LANG=C.UTF-8"}, 90, 40);
  program.ReadUntil([&] { return program.text().find(kDrawn) != std::string::npos; });
  EXPECT_THAT(program.text(), AllOf(StartsWith("\x1b[?1049h\x1b[?25l\x1b[2J\x1b[1;1H\x1b[K"),
                                    HasSubstr("horizon top"), HasSubstr("\x1b[32mcomplete\x1b[0m"),
                                    HasSubstr("█"), HasSubstr("\x1b[2;1H\x1b[K")));
  EXPECT_FALSE(program.Echoes());
  program.Forget();
  program.Type("q");
  EXPECT_EQ(program.AwaitEnd(), 0);
  EXPECT_THAT(program.text(), EndsWith(kLeave));
  EXPECT_TRUE(program.Echoes());
}

TEST_F(TopCommand, ItFillsAWindowThatChanges) {
  PtyProgram program({"top", "run", "--interval", "3600"}, {"TERM=xterm", "LC_ALL=C"}, 60, 30);
  program.ReadUntil([&] { return program.text().find(kDrawn) != std::string::npos; });
  program.Forget();
  program.Resize(120, 20);
  program.ReadUntil([&] { return program.text().find(kDrawn) != std::string::npos; });
  EXPECT_THAT(program.text(), AllOf(HasSubstr("\x1b[20;1H"), Not(HasSubstr("\x1b[21;1H"))));
  const std::string first = program.text().substr(0, program.text().find("\x1b[2;1H"));
  EXPECT_EQ(first.size(), std::string("\x1b[1;1H\x1b[K\x1b[1m\x1b[0m\x1b[32m\x1b[0m").size() + 120);
  program.Type("q");
  EXPECT_EQ(program.AwaitEnd(), 0);
}

TEST_F(TopCommand, ASignalLeavesTheTerminalAsItWas) {
  for (const int number : {SIGINT, SIGTERM}) {
    PtyProgram program({"top", "run"}, {"TERM=xterm", "NO_COLOR=1"}, 80, 24);
    program.ReadUntil([&] { return program.text().find(kDrawn) != std::string::npos; });
    EXPECT_THAT(program.text(), Not(HasSubstr("\x1b[32m")));
    if (number == SIGINT) {
      program.Type("\x03");  // Ctrl-C
    } else {
      program.Signal(number);
    }
    EXPECT_EQ(program.AwaitEnd(), 0);
    EXPECT_THAT(program.text(), EndsWith(kLeave));
    EXPECT_TRUE(program.Echoes());
  }
}

TEST_F(TopCommand, ADumbTerminalGetsOnePicture) {
  PtyProgram program({"top", "run"}, {"TERM=dumb"}, 80, 24);
  EXPECT_EQ(program.AwaitEnd(), 0);
  EXPECT_THAT(program.text(), AllOf(HasSubstr("horizon top"), Not(HasSubstr("\x1b[?1049h"))));
}

TEST_F(TopCommand, AFolderThatIsTakenAwayIsToldOnTheScreen) {
  ASSERT_EQ(RunShell("rm -rf moving && cp -r run moving").exit_code, 0);
  PtyProgram program({"top", "moving", "--interval", "1"}, {"TERM=xterm"}, 200, 24);
  program.ReadUntil([&] { return program.text().find(kDrawn) != std::string::npos; });
  ASSERT_EQ(RunShell("mv moving moved").exit_code, 0);
  program.ReadUntil([&] { return program.text().find("cannot ") != std::string::npos; });
  program.Forget();
  ASSERT_EQ(RunShell("mv moved moving").exit_code, 0);
  program.ReadUntil([&] {
    return program.text().find(kDrawn) != std::string::npos &&
           program.text().rfind("cannot ") == std::string::npos;
  });
  program.Type("q");
  EXPECT_EQ(program.AwaitEnd(), 0);
}

}  // namespace
}  // namespace horizon
