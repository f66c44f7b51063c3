#include "common/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

namespace horizon {
namespace {

using ::testing::HasSubstr;

// What `write` logs to a stream in memory.
template <typename Write>
std::string Logged(LogLevel least, LogStyle style, Write write) {
  char* text = nullptr;
  size_t size = 0;
  std::FILE* stream = ::open_memstream(&text, &size);
  {
    Log log(stream, least, style);
    write(log);
  }
  std::fclose(stream);
  std::string result(text, size);
  ::free(text);
  return result;
}

void WriteAll(Log& log) {
  log.Debug("d");
  log.Info("i");
  log.Warning("w");
  log.Error("e");
}

TEST(Log, WritesItsLevelAndAbove) {
  EXPECT_EQ(Logged(LogLevel::kDebug, LogStyle::kPlain, WriteAll),
            "debug: d\ninfo: i\nwarning: w\nerror: e\n");
  EXPECT_EQ(Logged(LogLevel::kInfo, LogStyle::kPlain, WriteAll), "info: i\nwarning: w\nerror: e\n");
  EXPECT_EQ(Logged(LogLevel::kWarning, LogStyle::kPlain, WriteAll), "warning: w\nerror: e\n");
  EXPECT_EQ(Logged(LogLevel::kError, LogStyle::kPlain, WriteAll), "error: e\n");
}

TEST(Log, WantsSaysWhatWouldBeWritten) {
  Log log(stderr, LogLevel::kWarning, LogStyle::kPlain);
  EXPECT_FALSE(log.IsEnabled(LogLevel::kDebug));
  EXPECT_FALSE(log.IsEnabled(LogLevel::kInfo));
  EXPECT_TRUE(log.IsEnabled(LogLevel::kWarning));
  EXPECT_TRUE(log.IsEnabled(LogLevel::kError));
}

TEST(Log, ColoursOnlyInColourStyle) {
  const auto warn = [](Log& log) { log.Warning("text"); };
  EXPECT_EQ(Logged(LogLevel::kInfo, LogStyle::kPlain, warn), "warning: text\n");
  EXPECT_EQ(Logged(LogLevel::kInfo, LogStyle::kTerminal, warn), "\r\x1b[Kwarning: text\n");
  EXPECT_EQ(Logged(LogLevel::kInfo, LogStyle::kColour, warn),
            "\r\x1b[K\x1b[33mwarning:\x1b[0m text\n");
}

TEST(Log, AStatusLineIsRedrawnBelowMessagesUntilItEnds) {
  const auto work = [](Log& log) {
    log.ShowStatus("1 of 3");
    log.ShowStatus("2 of 3");
    log.Info("a message");
    log.EndStatus();
    log.EndStatus();
    log.Info("another");
  };
  EXPECT_EQ(Logged(LogLevel::kInfo, LogStyle::kTerminal, work),
            "\r\x1b[K1 of 3\r\x1b[K2 of 3\r\x1b[Kinfo: a message\n2 of 3\n"
            "\r\x1b[Kinfo: another\n");
  EXPECT_EQ(Logged(LogLevel::kInfo, LogStyle::kPlain, work), "info: a message\ninfo: another\n");
  EXPECT_EQ(Logged(LogLevel::kWarning, LogStyle::kTerminal, work), "");
  EXPECT_TRUE(Log(stderr, LogLevel::kInfo, LogStyle::kTerminal).on_terminal());
  EXPECT_FALSE(Log(stderr, LogLevel::kInfo, LogStyle::kPlain).on_terminal());
}

TEST(Log, AStatusLineThatIsClearedLeavesNothing) {
  EXPECT_EQ(Logged(LogLevel::kInfo, LogStyle::kTerminal,
                   [](Log& log) {
                     log.ShowStatus("1 of 3");
                     log.ClearStatus();
                     log.Info("a message");
                   }),
            "\r\x1b[K1 of 3\r\x1b[K\r\x1b[Kinfo: a message\n");
}

TEST(Log, AStatusLineIsCutToTheWindowWhichMayChange) {
  char* text = nullptr;
  size_t size = 0;
  std::FILE* stream = ::open_memstream(&text, &size);
  int columns = 10;
  {
    Log log(stream, LogLevel::kInfo, LogStyle::kTerminal, [&] { return columns; });
    log.ShowStatus("0123456789abc");  // a column stays free
    columns = 4;                      // the window has broken it into three rows
    log.Info("m");
    columns = 30;
    log.Info("n");
  }
  std::fclose(stream);
  EXPECT_EQ(std::string(text, size),
            "\r\x1b[K012345678\x1b[2A\r\x1b[Jinfo: m\n012\r\x1b[Kinfo: n\n0123456789abc");
  ::free(text);
}

TEST(Log, FurtherLinesAreIndented) {
  EXPECT_EQ(Logged(LogLevel::kInfo, LogStyle::kPlain, [](Log& log) { log.Info("one\ntwo"); }),
            "info: one\n  two\n");
}

// A file gets one line a message, so that grep finds it; a terminal would break words.
TEST(Log, ALongMessageIsBrokenBetweenWordsOnATerminalOnly) {
  const std::string message = "a message of some words at /a/long/path/that/stays/whole and more";
  const auto written = [&](LogStyle style) {
    char* text = nullptr;
    size_t size = 0;
    std::FILE* stream = ::open_memstream(&text, &size);
    {
      Log log(stream, LogLevel::kInfo, style, [] { return 25; });
      log.Warning(message);
    }
    std::fclose(stream);
    std::string all(text, size);
    ::free(text);
    return all;
  };
  EXPECT_EQ(written(LogStyle::kPlain), "warning: " + message + "\n");
  EXPECT_EQ(written(LogStyle::kTerminal),
            "\r\x1b[Kwarning: a message of\n"
            "  some words at\n"
            "  /a/long/path/that/stays/whole\n"
            "  and more\n");
}

TEST(Log, LinesOfSeveralThreadsDoNotMix) {
  const std::string text = Logged(LogLevel::kInfo, LogStyle::kPlain, [](Log& log) {
    std::vector<std::jthread> threads;
    for (const char letter : {'a', 'b', 'c', 'd'}) {
      threads.emplace_back([&log, letter] {
        for (int i = 0; i < 200; ++i) log.Info(std::string(50, letter));
      });
    }
  });
  ASSERT_EQ(text.size(), 800 * (6 + 50 + 1u));
  for (size_t start = 0; start < text.size(); start += 57) {
    ASSERT_EQ(text.substr(start, 57), "info: " + std::string(50, text[start + 6]) + "\n");
  }
}

TEST(LogLevel, EveryWordIsUnderstoodAndNothingElse) {
  for (const LogLevel level :
       {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError}) {
    EXPECT_EQ(*ParseLogLevel(ToString(level)), level);
  }
  for (const char* word : {"", "Info", "warn", "info ", "verbose", "1"}) {
    const auto level = ParseLogLevel(word);
    EXPECT_TRUE(absl::IsInvalidArgument(level.status())) << word;
    EXPECT_THAT(std::string(level.status().message()), HasSubstr("debug, info, warning, error"));
  }
}

TEST(LogStyleFor, AFileIsPlainWhateverTheEnvironmentSays) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(LogStyleFor(file, nullptr), LogStyle::kPlain);
  EXPECT_EQ(LogStyleFor(file, "1"), LogStyle::kPlain);
  std::fclose(file);
}

TEST(LogStyleFor, ATerminalHasColoursUnlessNoColorIsSetAndNotEmpty) {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(master, 0);
  ASSERT_EQ(::grantpt(master), 0);
  ASSERT_EQ(::unlockpt(master), 0);
  char name[64];
  ASSERT_EQ(::ptsname_r(master, name, sizeof(name)), 0);
  const int terminal_descriptor = ::open(name, O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal_descriptor, 0);
  std::FILE* terminal = ::fdopen(terminal_descriptor, "w");
  EXPECT_EQ(LogStyleFor(terminal, nullptr), LogStyle::kColour);
  EXPECT_EQ(LogStyleFor(terminal, ""), LogStyle::kColour);
  EXPECT_EQ(LogStyleFor(terminal, "1"), LogStyle::kTerminal);
  std::fclose(terminal);
  ::close(master);
}

}  // namespace
}  // namespace horizon
