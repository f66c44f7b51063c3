#include "app/show_progress.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "common/clock.h"
#include "common/files/io.h"
#include "common/log.h"

namespace horizon {
namespace {

// What is shown of four pieces of work, six seconds each, with a message after the second.
std::string Shown(LogStyle style, LogLevel least) {
  char* text = nullptr;
  size_t size = 0;
  std::FILE* stream = ::open_memstream(&text, &size);
  {
    Log log(stream, least, style);
    const std::unique_ptr<Io> io = MakePosixIo();
    const std::unique_ptr<Output> output = MakeStandardOutput(nullptr);
    VirtualClock clock;
    const CommandList commands;
    const CommandContext context{
        .io = *io, .clock = clock, .log = log, .output = *output, .commands = commands};
    Progress progress = ShowProgress(context, "work", 4);
    for (uint64_t done = 1; done <= 4; ++done) {
      clock.Advance(std::chrono::seconds(6));
      if (done < 4) progress.Update(done);
      if (done == 2) log.Warning("a doubt");
    }
    progress.Finish(4);
  }
  std::fclose(stream);
  std::string result(text, size);
  std::free(text);
  return result;
}

TEST(ShowProgress, IsALineThatIsRedrawnOnATerminal) {
  EXPECT_EQ(Shown(LogStyle::kTerminal, LogLevel::kInfo),
            "\r\x1b[Kwork: 1 of 4, 25 %, 0.167/s, 18 s left"
            "\r\x1b[Kwork: 2 of 4, 50 %, 0.167/s, 12 s left"
            "\r\x1b[Kwarning: a doubt\n"
            "\r\x1b[Kwork: 3 of 4, 75 %, 0.167/s, 6 s left"
            "\r\x1b[Kwork: 4 in 24 s, 0.167/s\n");
}

TEST(ShowProgress, IsAMessageNowAndThenElsewhere) {
  EXPECT_EQ(Shown(LogStyle::kPlain, LogLevel::kInfo),
            "info: work: 2 of 4, 50 %, 0.167/s, 12 s left\n"
            "warning: a doubt\n"
            "info: work: 4 in 24 s, 0.167/s\n");
}

TEST(ShowProgress, IsNothingWhereInformationIsNotWanted) {
  EXPECT_EQ(Shown(LogStyle::kPlain, LogLevel::kWarning), "warning: a doubt\n");
  EXPECT_EQ(Shown(LogStyle::kTerminal, LogLevel::kError), "");
}

}  // namespace
}  // namespace horizon
