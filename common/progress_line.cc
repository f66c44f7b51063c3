#include "common/progress_line.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/text/columns.h"
#include "common/text/printable.h"

namespace horizon {

std::string FitLine(const std::vector<LinePart>& parts, int columns) {
  int limit = 0;  // the highest rank that is shown
  for (const LinePart& part : parts) limit = std::max(limit, part.rank);
  for (;; --limit) {
    std::string line;
    for (const LinePart& part : parts) {
      if (part.rank <= limit) line += Printable(part.text);
    }
    if (limit <= 0 || ColumnsOf(line) <= columns) return line;
  }
}

ProgressLine::ProgressLine(Log& log, Clock& clock, Nanoseconds line_interval)
    : log_(log),
      clock_(clock),
      interval_(log.on_terminal() ? kRedrawInterval : line_interval),
      next_(clock.Now() + (log.on_terminal() ? Nanoseconds::zero() : line_interval)) {}

ProgressLine::~ProgressLine() {
  if (shown_) log_.ClearStatus();
}

void ProgressLine::Show(const std::vector<LinePart>& parts) {
  next_ = clock_.Now() + interval_;
  if (!log_.on_terminal()) return log_.Info(FitLine(parts, std::numeric_limits<int>::max()));
  // One column stays free: a full line makes some terminals wrap.
  log_.ShowStatus(FitLine(parts, log_.columns() - 1));
  shown_ = true;
}

void ProgressLine::Finish(const std::vector<LinePart>& parts) {
  Show(parts);
  if (std::exchange(shown_, false)) log_.EndStatus();
}

}  // namespace horizon
