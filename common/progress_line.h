#pragma once

#include <string>
#include <vector>

#include "common/clock.h"
#include "common/log.h"

namespace horizon {

// A piece of a progress line, such as "  loss 2.31", with the spaces that separate it from the
// piece before. Where the line is wider than the terminal, the pieces with the highest `rank` are
// left out first; those of rank 0 are never left out.
struct LinePart {
  std::string text;
  int rank = 0;
};

// Joins the parts to a line that fits into `columns` if leaving out parts can achieve that.
std::string FitLine(const std::vector<LinePart>& parts, int columns);

// Shows a person the progress of some work. On a terminal it is one line at the bottom, redrawn in
// place, that fits the window; messages of the log appear above it. Elsewhere (a file, a pipe, or a
// log that is meant to be plain) it is a message every `line_interval`:
//
//   ProgressLine line(log, clock);
//   for (...) {
//     if (line.IsDue()) line.Show({{StrCat("step ", i)}, {StrCat("  ", rate, " tokens/s"), 1}});
//   }
//   line.Finish({{"all steps are done"}});
//
// One thread uses it; a log has one such line at a time. The log and the clock outlive it.
class ProgressLine {
 public:
  static constexpr Nanoseconds kRedrawInterval = std::chrono::milliseconds(100);
  static constexpr Nanoseconds kLineInterval = std::chrono::seconds(10);

  ProgressLine(Log& log, Clock& clock, Nanoseconds line_interval = kLineInterval);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  // A line that was not finished disappears from the terminal.
  ~ProgressLine();

  // Whether enough time has passed for another line. On a terminal the first is due at once,
  // elsewhere after an interval, since short work needs no lines in a file.
  bool IsDue() const { return clock_.Now() >= next_; }
  // Shows a line now, due or not.
  void Show(const std::vector<LinePart>& parts);
  // Shows the last line, which stays. A later Show begins a new one.
  void Finish(const std::vector<LinePart>& parts);

 private:
  Log& log_;
  Clock& clock_;
  const Nanoseconds interval_;
  Nanoseconds next_;
  bool shown_ = false;  // the terminal has a line that is not finished
};

}  // namespace horizon
