#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "common/clock.h"

namespace horizon {

enum class ProgressStyle {
  kTerminal,  // one line, redrawn in place
  kLines,     // a plain line now and then: pipes, files, CI
};
enum class ProgressUnit { kItems, kBytes };

struct ProgressOptions {
  std::string what;    // "loading weights"
  uint64_t total = 0;  // 0: not known, no share and no time left
  ProgressUnit unit = ProgressUnit::kItems;
  ProgressStyle style = ProgressStyle::kLines;
  int columns =
      80;  // the terminal's width; longer lines are cut, since a wrapped one is not erased
  Nanoseconds redraw_interval = std::chrono::milliseconds(100);  // kTerminal
  Nanoseconds line_interval = std::chrono::seconds(10);          // kLines
};

// Shows how far long work is: "loading weights: 3.00 GiB of 12.0 GiB, 25 %, 1.20 GB/s, 8 s left".
// Used by one thread; `clock` and what `sink` writes to outlive it. Update costs a look at the
// clock unless a line is due, so it may be called for every item.
class Progress {
 public:
  using Sink = std::function<void(std::string_view)>;
  Progress(Clock& clock, Sink sink, ProgressOptions options);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  // Work that was given up leaves its last line standing, ended.
  ~Progress();

  // `done` of the total so far. The first call draws at once on a terminal.
  void Update(uint64_t done);
  // The closing line, "loading weights: 12.0 GiB in 10 s, 1.20 GB/s". Later calls do nothing.
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
  Nanoseconds next_;    // no drawing before that
  bool drawn_ = false;  // an unended line stands on the terminal
  bool finished_ = false;
};

// "45 s", "3 min 07 s", "2 h 05 min", "3 d 04 h"; seconds are rounded to nearest first.
std::string RoughDuration(Nanoseconds duration);

}  // namespace horizon
