#pragma once

#include <cstdio>
#include <mutex>
#include <string_view>

#include "absl/status/statusor.h"

namespace horizon {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Parses the value of --log-level: debug, info, warning or error. Anything else is InvalidArgument,
// and the message names the four.
absl::StatusOr<LogLevel> ParseLogLevel(std::string_view word);
std::string_view ToString(LogLevel level);

enum class LogStyle {
  kPlain,     // text only
  kTerminal,  // each message first erases the progress line on the terminal
  kColour,    // kTerminal, with the level in colour
};

// The style that suits `out`: kPlain if it is not a terminal, kTerminal if `no_color` is set and
// not empty, else kColour. `no_color` is the value of the environment variable NO_COLOR
// (no-color.org), or null.
LogStyle LogStyleFor(std::FILE* out, const char* no_color);

// Writes messages for people, such as "warning: text", to a stream that the caller owns. `main`
// creates one Log and passes it down by reference. Any thread may write; lines of different threads
// do not mix. Errors of the stream are ignored.
class Log {
 public:
  Log(std::FILE* out, LogLevel least, LogStyle style) : out_(out), least_(least), style_(style) {}
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void Debug(std::string_view message) { Write(LogLevel::kDebug, message); }
  void Info(std::string_view message) { Write(LogLevel::kInfo, message); }
  void Warning(std::string_view message) { Write(LogLevel::kWarning, message); }
  void Error(std::string_view message) { Write(LogLevel::kError, message); }
  // Writes a message unless `level` is below the minimum that the constructor was given. The second
  // and later lines of a message are indented.
  void Write(LogLevel level, std::string_view message);
  // Writes `text` unchanged, unless messages of level kInfo are disabled. Use it for a progress
  // line, which stays on a terminal (on_terminal) until a message or a newer line replaces it.
  void Draw(std::string_view text);
  bool on_terminal() const { return style_ != LogStyle::kPlain; }
  // Whether messages of this level are written; ask before composing a costly message.
  bool IsEnabled(LogLevel level) const { return level >= least_; }

 private:
  std::FILE* const out_;
  const LogLevel least_;
  const LogStyle style_;
  std::mutex mutex_;  // one line at a time
};

}  // namespace horizon
