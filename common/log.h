#pragma once

#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

namespace horizon {

// How important a message is, least important first.
enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Parses the value of --log-level: debug, info, warning or error. Anything else is InvalidArgument,
// and the message names the four.
absl::StatusOr<LogLevel> ParseLogLevel(std::string_view word);
std::string_view ToString(LogLevel level);

// How messages are shown.
enum class LogStyle {
  kPlain,     // text only
  kTerminal,  // with a status line below the messages
  kColour,    // kTerminal, with the level in colour
};

// The style that suits `out`: kPlain if it is not a terminal, kTerminal if `no_color` is set and
// not empty, else kColour. `no_color` is the value of the environment variable NO_COLOR
// (no-color.org), or null.
LogStyle LogStyleFor(std::FILE* out, const char* no_color);

// Writes messages for people, such as "warning: text", to a stream that the caller owns. `main`
// creates one Log and passes it down by reference. Any thread may write; lines of different threads
// do not mix. Errors of the stream are ignored.
// On a terminal there may be a status line below the messages, which ShowStatus redraws in place
// (ProgressLine is what commands use for that). A message erases it, is written, and draws it again
// below, so neither tears the other.
class Log {
 public:
  // `columns` tells how wide the terminal is now, or 0 if that is not known; empty: `out` is asked.
  Log(std::FILE* out, LogLevel least, LogStyle style, std::function<int()> columns = {})
      : out_(out), least_(least), style_(style), columns_(std::move(columns)) {}
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void Debug(std::string_view message) { Write(LogLevel::kDebug, message); }
  void Info(std::string_view message) { Write(LogLevel::kInfo, message); }
  void Warning(std::string_view message) { Write(LogLevel::kWarning, message); }
  void Error(std::string_view message) { Write(LogLevel::kError, message); }
  // Writes a message unless `level` is below the minimum that the constructor was given. The second
  // and later lines of a message are indented. On a terminal a message that is wider than a line is
  // broken between words; elsewhere it stays one line.
  void Write(LogLevel level, std::string_view message);
  // Shows this line of printable text below the messages, in place of the line before, cut to the
  // terminal's width. Does nothing if there is no terminal or messages of kInfo are disabled.
  void ShowStatus(std::string_view line);
  // Leaves the status line where it is. Later messages appear below it.
  void EndStatus();
  // Erases the status line.
  void ClearStatus();
  // The terminal's present width in columns; 80 if it is not known.
  int columns() const;
  bool on_terminal() const { return style_ != LogStyle::kPlain; }
  // Whether messages of this level are written; ask before composing a costly message.
  bool IsEnabled(LogLevel level) const { return level >= least_; }

 private:
  std::string EraseStatus() const;
  std::string DrawStatus();

  std::FILE* const out_;
  const LogLevel least_;
  const LogStyle style_;
  const std::function<int()> columns_;
  std::mutex mutex_;        // one line at a time, and the members below
  std::string status_;      // the line below the messages, in full; empty: there is none
  int status_columns_ = 0;  // of the part of it that is drawn
};

}  // namespace horizon
