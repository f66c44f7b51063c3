#include "common/log.h"

#include <unistd.h>

#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "common/terminal_width.h"
#include "common/text/columns.h"
#include "common/text/printable.h"
#include "common/text/str_cat.h"
#include "common/text/wrap.h"

namespace horizon {
namespace {

constexpr std::string_view kResetColour = "\x1b[0m";

// In a narrower window messages are broken by the terminal.
constexpr int kLeastColumns = 20;

std::string_view ColourOf(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "\x1b[2m";
    case LogLevel::kInfo:
      return "\x1b[36m";
    case LogLevel::kWarning:
      return "\x1b[33m";
    case LogLevel::kError:
      return "\x1b[1;31m";
  }
  return "";
}

}  // namespace

std::string_view ToString(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "unknown";
}

absl::StatusOr<LogLevel> ParseLogLevel(std::string_view word) {
  for (const LogLevel level :
       {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError}) {
    if (word == ToString(level)) return level;
  }
  return absl::InvalidArgumentError(
      StrCat("unknown log level '", word, "'; it is one of debug, info, warning, error"));
}

LogStyle LogStyleFor(std::FILE* out, const char* no_color) {
  const int descriptor = ::fileno(out);
  if (descriptor == -1 || ::isatty(descriptor) == 0) return LogStyle::kPlain;
  const bool colourless = no_color != nullptr && *no_color != '\0';
  return colourless ? LogStyle::kTerminal : LogStyle::kColour;
}

int Log::columns() const {
  constexpr int kUsual = 80;
  const int columns = columns_ ? columns_() : TerminalColumns(out_);
  return columns > 0 ? columns : kUsual;
}

// Where the window became narrower, most terminals have broken the line into several rows, the last
// of which has the cursor.
std::string Log::EraseStatus() const {
  if (style_ == LogStyle::kPlain) return "";
  const int rows_above = std::max(0, status_columns_ - 1) / columns();
  return rows_above > 0 ? StrCat("\x1b[", rows_above, "A\r\x1b[J") : "\r\x1b[K";
}

std::string Log::DrawStatus() {
  // One column stays free: a full line makes some terminals wrap.
  const std::string_view shown = FirstColumns(status_, columns() - 1);
  status_columns_ = ColumnsOf(shown);
  return std::string(shown);
}

void Log::ShowStatus(std::string_view line) {
  if (style_ == LogStyle::kPlain || !IsEnabled(LogLevel::kInfo)) return;
  const std::scoped_lock lock(mutex_);
  std::string text = EraseStatus();
  status_ = line;
  text += DrawStatus();
  std::fwrite(text.data(), 1, text.size(), out_);
  std::fflush(out_);
}

void Log::ClearStatus() {
  const std::scoped_lock lock(mutex_);
  if (status_.empty()) return;
  const std::string text = EraseStatus();
  status_.clear();
  status_columns_ = 0;
  std::fwrite(text.data(), 1, text.size(), out_);
  std::fflush(out_);
}

void Log::EndStatus() {
  const std::scoped_lock lock(mutex_);
  if (status_.empty()) return;
  status_.clear();
  status_columns_ = 0;
  std::fputc('\n', out_);
  std::fflush(out_);
}

void Log::Write(LogLevel level, std::string_view message) {
  if (!IsEnabled(level)) return;
  std::string line;
  if (style_ == LogStyle::kColour) line += ColourOf(level);
  line += ToString(level);
  line += ':';
  if (style_ == LogStyle::kColour) line += kResetColour;
  line += ' ';
  // Names of files and words of the caller are part of messages.
  std::string text;
  for (const char letter : Printable(message)) {
    text += letter;
    if (letter == '\n') text += "  ";
  }
  // Lines without colours may stand on a terminal too. One column stays free, as in the status
  // line.
  const int wide = on_terminal() ? columns() : TerminalColumns(out_);
  if (wide > 0) {
    text = WrapMessage(text, {.width = static_cast<size_t>(std::max(kLeastColumns, wide) - 1),
                              .column = ToString(level).size() + 2,
                              .hang = 2});
  }
  line += text;
  line += '\n';
  const std::scoped_lock lock(mutex_);
  line.insert(0, EraseStatus());
  line += DrawStatus();
  // One call, so that lines of other processes on the same stream do not fall in between.
  std::fwrite(line.data(), 1, line.size(), out_);
  std::fflush(out_);
}

}  // namespace horizon
