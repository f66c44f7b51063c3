#pragma once

#include <cstdio>
#include <mutex>
#include <string_view>

#include "absl/status/statusor.h"

namespace horizon {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// The value of --log-level: debug, info, warning or error; anything else is InvalidArgument and
// names the four.
absl::StatusOr<LogLevel> ParseLogLevel(std::string_view word);
std::string_view ToString(LogLevel level);

enum class LogStyle {
  kPlain,     // text only
  kTerminal,  // each line first erases a progress line standing there
  kColour,    // kTerminal, and the level in colour
};

// What suits `out`: kPlain when it is no terminal, else kColour unless `no_color` (the value of the
// environment's NO_COLOR, or null) is set and not empty, as no-color.org has it.
LogStyle LogStyleFor(std::FILE* out, const char* no_color);

// Lines "warning: text" for people, on a stream that stays the caller's. `main` makes one and
// passes it down by reference. Any thread may write; lines do not mix. A stream that fails is not
// noticed.
class Log {
 public:
  Log(std::FILE* out, LogLevel least, LogStyle style) : out_(out), least_(least), style_(style) {}
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void Debug(std::string_view message) { Write(LogLevel::kDebug, message); }
  void Info(std::string_view message) { Write(LogLevel::kInfo, message); }
  void Warning(std::string_view message) { Write(LogLevel::kWarning, message); }
  void Error(std::string_view message) { Write(LogLevel::kError, message); }
  // Dropped when below the level given; further lines of a message are indented.
  void Write(LogLevel level, std::string_view message);
  // Writes a text as it is, unless the level leaves information out: for a progress line, which
  // stands on a terminal (on_terminal) until a message or a newer one takes its place.
  void Draw(std::string_view text);
  bool on_terminal() const { return style_ != LogStyle::kPlain; }
  // For messages that are costly to put together.
  bool Wants(LogLevel level) const { return level >= least_; }

 private:
  std::FILE* const out_;
  const LogLevel least_;
  const LogStyle style_;
  std::mutex mutex_;  // one line at a time
};

}  // namespace horizon
