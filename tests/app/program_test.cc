#include "app/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "common/text/str_cat.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class StringOutput : public Output {
 public:
  absl::Status Write(std::string_view written) override {
    if (!result.ok()) return result;
    text += written;
    return absl::OkStatus();
  }
  std::string text;
  absl::Status result;
};

// Answers with what it was given, logs at every level and returns the Status it was made with.
class EchoCommand : public Command {
 public:
  explicit EchoCommand(absl::Status result) : result_(std::move(result)) {}
  std::string_view name() const override { return "echo"; }
  std::string_view summary() const override { return "Say it again"; }
  OptionList Options() override {
    return {.options = {{.name = "times", .value = &times_, .unit = "times", .help = "How often"}},
            .positionals = {{.name = "WORD", .value = &word_, .help = "What to say"}}};
  }
  absl::Status Run(const CommandContext& context) override {
    context.log.Debug("a detail");
    context.log.Info("a fact");
    context.log.Warning("a doubt");
    absl::Status written = context.output.Write(StrCat(word_, " x ", times_, "\n"));
    return written.ok() ? result_ : written;
  }

 private:
  absl::Status result_;
  std::string word_;
  int64_t times_ = 1;
};

struct Outcome {
  int code = 0;
  std::string out;
  std::string log;
};

class Program : public ::testing::Test {
 protected:
  Outcome Run(const std::vector<std::string>& arguments, absl::Status result = absl::OkStatus()) {
    CommandList commands;
    commands.push_back(std::make_unique<EchoCommand>(std::move(result)));
    std::FILE* errors = std::tmpfile();
    EXPECT_NE(errors, nullptr);
    const std::unique_ptr<Io> io = MakePosixIo();
    VirtualClock clock;
    output_.text.clear();
    Outcome outcome;
    outcome.code = static_cast<int>(RunProgram(arguments, commands,
                                               ProgramWorld{.io = *io,
                                                            .clock = clock,
                                                            .output = output_,
                                                            .errors = errors,
                                                            .log_style = LogStyle::kPlain}));
    outcome.out = output_.text;
    std::rewind(errors);
    char piece[4096];
    while (const size_t count = std::fread(piece, 1, sizeof(piece), errors)) {
      outcome.log.append(piece, count);
    }
    std::fclose(errors);
    return outcome;
  }

  StringOutput output_;
};

TEST_F(Program, RunsTheCommandWithItsOptions) {
  const Outcome outcome = Run({"echo", "hello", "--times", "3"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "hello x 3\n");
}

TEST_F(Program, LogLevelStandsBeforeOrBehindTheCommand) {
  EXPECT_EQ(Run({"echo", "x"}).log, "info: a fact\nwarning: a doubt\n");
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"--log-level", "debug", "echo", "x"},
           {"--log-level=debug", "echo", "x"},
           {"echo", "--log-level", "debug", "x"},
           {"--log-level", "error", "echo", "x", "--log-level", "debug"}}) {
    EXPECT_EQ(Run(arguments).log, "debug: a detail\ninfo: a fact\nwarning: a doubt\n");
  }
  EXPECT_EQ(Run({"echo", "x", "--log-level", "warning"}).log, "warning: a doubt\n");
  EXPECT_EQ(Run({"--log-level", "error", "echo", "x"}).log, "");
}

TEST_F(Program, BadLogLevelIsMisuse) {
  const Outcome outcome = Run({"--log-level", "loud", "echo", "x"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.log, HasSubstr("'loud' is none of debug, info, warning, error"));
}

TEST_F(Program, NothingAsksForTheOverview) {
  const Outcome outcome = Run({});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("  echo  Say it again\n"));
  EXPECT_EQ(outcome.log, "");
  EXPECT_EQ(Run({"--help"}).out, outcome.out);
  EXPECT_EQ(Run({"-h"}).out, outcome.out);
}

TEST_F(Program, HelpExplainsWithoutRunning) {
  for (const auto& arguments :
       std::vector<std::vector<std::string>>{{"echo", "--help"},
                                             {"echo", "x", "--help"},
                                             {"--help", "echo"},
                                             {"echo", "-h"},
                                             {"-h", "echo"},
                                             {"echo", "x", "--times", "3", "-h"}}) {
    const Outcome outcome = Run(arguments);
    EXPECT_EQ(outcome.code, 0);
    EXPECT_THAT(outcome.out,
                StartsWith("Say it again.\n\nUsage: horizon echo WORD [--times TIMES]\n"));
    EXPECT_THAT(outcome.out, HasSubstr("  -h, --help         Show this help\n"));
    EXPECT_EQ(outcome.log, "");
  }
}

TEST_F(Program, VersionIsOneLine) {
  const Outcome outcome = Run({"--version"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, ::testing::MatchesRegex("horizon [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST_F(Program, MisuseIsTwoWithOneLineAndNoAnswer) {
  struct Case {
    std::vector<std::string> arguments;
    std::string log;
  };
  for (const auto& [arguments, log] : std::vector<Case>{
           {{"ecko"}, "error: unknown command 'ecko'; did you mean 'echo'?\n"},
           {{"zzz"}, "error: unknown command 'zzz'; 'horizon help' lists the commands\n"},
           {{""}, "error: unknown command ''; 'horizon help' lists the commands\n"},
           {{"--vresion"}, "error: unknown option '--vresion'; did you mean '--version'?\n"},
           {{"echo"}, "error: WORD is missing: What to say; see 'horizon help echo'\n"},
           {{"echo", "x", "--tmies", "2"},
            "error: unknown option '--tmies'; did you mean '--times'?\n"},
           {{"echo", "x", "--times", "two"},
            "error: --times: 'two' is not a whole number of times; see 'horizon help echo'\n"}}) {
    const Outcome outcome = Run(arguments);
    EXPECT_EQ(outcome.code, 2) << log;
    EXPECT_EQ(outcome.out, "") << log;
    EXPECT_EQ(outcome.log, log);
  }
}

TEST_F(Program, TheCommandsStatusIsTheExitCode) {
  const Outcome outcome =
      Run({"echo", "x", "--log-level", "error"}, absl::FailedPreconditionError("needs 3 GiB more"));
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(outcome.log, "error: needs 3 GiB more\n");
  EXPECT_EQ(Run({"echo", "x"}, absl::DataLossError("x")).code, 4);
}

TEST_F(Program, AnAnswerThatCannotBeWrittenIsAnInputOutputError) {
  output_.result = IoError(ENOSPC, "write the answer to standard output");
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {}, {"echo", "x", "--log-level", "error"}, {"echo", "--help"}, {"--version"}}) {
    const Outcome outcome = Run(arguments);
    EXPECT_EQ(outcome.code, 6);
    EXPECT_THAT(outcome.log, StartsWith("error: cannot write the answer to standard output"));
  }
}

TEST_F(Program, AReaderThatWentAwayIsNoNews) {
  output_.result = IoError(EPIPE, "write the answer to standard output");
  const Outcome outcome = Run({"echo", "x", "--log-level", "error"});
  EXPECT_EQ(outcome.code, 6);
  EXPECT_EQ(outcome.log, "");
}

}  // namespace
}  // namespace horizon
