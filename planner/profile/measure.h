#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "simulator/curve.h"

namespace horizon {

// Tools to measure how long work takes on a machine that other programs use too.

inline constexpr size_t kFewRuns = 8;
inline constexpr double kMostSpread = 1e6;  // the largest spread that a profile may have

// How long a piece of work takes. It is the median of several runs, because other programs disturb
// some of them.
struct Measured {
  double seconds = 0;   // above zero
  int64_t repeats = 0;  // at least 1
  // The spread of the runs, divided by the median: from the first to the third quartile, or, with
  // fewer than kFewRuns runs, from the shortest to the longest. At most kMostSpread.
  double spread = 0;
};

// The median of several values, their number, and their spread as in Measured.
struct Spread {
  double median = 0;
  int64_t repeats = 0;
  double apart = 0;
};
Spread SpreadOf(std::vector<double> values);  // at least one value (CHECK), all above zero

// Adds a measured point to a curve: at `x`, `work` (bytes, flops, ...) took the measured seconds.
// The curve's origin gets the smallest number of repeats and the largest spread of its points.
void AddPoint(Curve& curve, double x, double work, const Measured& measured);

// Shares a fixed time between a known number of measurements, so that they all end in time
// together. The time that one measurement does not use is left for the others. For one thread.
class MeasuringTime {
 public:
  // `count` measurements will follow and should end `total` from now. `on_measured`, which may be
  // empty, is called after each measurement with how many are done.
  MeasuringTime(Clock& clock, Nanoseconds total, int64_t count,
                std::function<void(int64_t done)> on_measured = {});

  // Runs `work` once without timing it, to warm up pages and caches, and then again and again until
  // its share of the time is used up (or kMostRepeats is reached). Returns the first error of
  // `work`.
  absl::StatusOr<Measured> Measure(absl::FunctionRef<absl::Status()> work);
  // The same for work that times itself and returns its seconds, for example with device events.
  absl::StatusOr<Measured> MeasureSelfTimed(absl::FunctionRef<absl::StatusOr<double>()> work);
  // Measures the seconds that `work` would take at the machine's usual speed. `yardstick` is fixed
  // work that returns its seconds; at the usual speed it takes `usual` seconds (above zero; CHECK).
  // Both run in turn, `work` often enough to take about as long as the yardstick, and each time of
  // `work` is scaled by the yardsticks just before and after it.
  absl::StatusOr<Measured> MeasureAgainst(absl::FunctionRef<absl::Status()> work,
                                          absl::FunctionRef<absl::StatusOr<double>()> yardstick,
                                          double usual);
  // The seconds that the next measurement may take.
  double Share() const;

  static constexpr int64_t kMostRepeats = 1000;
  static constexpr int64_t kMostAtOnce = 100;  // most runs of the work between two yardsticks

 private:
  Clock& clock_;
  Nanoseconds deadline_;
  int64_t left_;
  int64_t done_ = 0;
  std::function<void(int64_t done)> on_measured_;
};

}  // namespace horizon
