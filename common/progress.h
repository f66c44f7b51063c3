#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/log.h"
#include "common/progress_line.h"

namespace horizon {

// What a Progress counts.
enum class ProgressUnit { kItems, kBytes };

// Settings of a Progress.
struct ProgressOptions {
  std::string what;    // "loading weights"
  uint64_t total = 0;  // 0: not known; then no percentage and no time left is shown
  ProgressUnit unit = ProgressUnit::kItems;
};

// Shows the progress of a long task:
//   "loading weights: 3.00 GiB of 12.0 GiB, 25 %, 1.20 GB/s, 8 s left"
// as a ProgressLine does: redrawn in place on a terminal, elsewhere a message now and then. One
// thread uses it. The log and the clock outlive it. Update only reads the clock unless a line is
// due, so it may be called for every item. If the work is abandoned before Finish, no line stays.
class Progress {
 public:
  Progress(Log& log, Clock& clock, ProgressOptions options);

  // Reports that `done` of the total is done.
  void Update(uint64_t done);
  // Shows the final line, "loading weights: 12.0 GiB in 10 s, 1.20 GB/s". Later calls of Update and
  // Finish do nothing.
  void Finish(uint64_t done);

 private:
  std::vector<LinePart> Line(uint64_t done, Nanoseconds elapsed) const;
  std::string Amount(uint64_t amount) const;
  std::string Rate(uint64_t done, Nanoseconds elapsed) const;

  Clock& clock_;
  const ProgressOptions options_;
  const Nanoseconds start_;
  ProgressLine line_;
  bool finished_ = false;
};

// A duration as text: "45 s", "3 min 07 s", "2 h 05 min", "3 d 04 h". It is first rounded to the
// nearest second.
std::string RoughDuration(Nanoseconds duration);

}  // namespace horizon
