#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "common/clock.h"

namespace horizon {

enum class ProgressStyle {
  kTerminal,  // one line, redrawn in place
  kLines,     // a plain line every few seconds, for pipes, files and CI
};
enum class ProgressUnit { kItems, kBytes };

struct ProgressOptions {
  std::string what;    // "loading weights"
  uint64_t total = 0;  // 0: not known; then no percentage and no time left is shown
  ProgressUnit unit = ProgressUnit::kItems;
  ProgressStyle style = ProgressStyle::kLines;
  // The terminal's width. Longer lines are cut, since redrawing would not erase a wrapped line.
  int columns = 80;
  Nanoseconds redraw_interval = std::chrono::milliseconds(100);  // kTerminal
  Nanoseconds line_interval = std::chrono::seconds(10);          // kLines
};

// Shows the progress of a long task:
//   "loading weights: 3.00 GiB of 12.0 GiB, 25 %, 1.20 GB/s, 8 s left"
// One thread uses it. `clock`, and whatever `sink` writes to, must outlive it. Update only reads
// the clock unless a line is due, so it may be called for every item.
class Progress {
 public:
  using Sink = std::function<void(std::string_view)>;
  Progress(Clock& clock, Sink sink, ProgressOptions options);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  // If the task was abandoned before Finish, its last line stays on the terminal, followed by a
  // newline.
  ~Progress();

  // Reports that `done` of the total is done. On a terminal the first call draws at once.
  void Update(uint64_t done);
  // Writes the final line, "loading weights: 12.0 GiB in 10 s, 1.20 GB/s". Later calls of Update
  // and Finish do nothing.
  void Finish(uint64_t done);

 private:
  std::string Line(uint64_t done, Nanoseconds elapsed) const;
  std::string Amount(uint64_t amount) const;
  std::string Rate(uint64_t done, Nanoseconds elapsed) const;
  void Draw(const std::string& line);

  Clock& clock_;
  const Sink sink_;
  const ProgressOptions options_;
  const Nanoseconds start_;
  Nanoseconds next_;    // nothing is drawn before this time
  bool drawn_ = false;  // the terminal shows a line without its newline
  bool finished_ = false;
};

// A duration as text: "45 s", "3 min 07 s", "2 h 05 min", "3 d 04 h". It is first rounded to the
// nearest second.
std::string RoughDuration(Nanoseconds duration);

}  // namespace horizon
