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

inline constexpr size_t kFewRuns = 8;
inline constexpr double kMostSpread = 1e6;  // as a profile takes it

// How long a piece of work takes: the median of several runs, since a machine is never alone with
// us.
struct Measured {
  double seconds = 0;   // above zero
  int64_t repeats = 0;  // at least 1
  // How far runs are apart, as a share of the median, at most kMostSpread: from the first to the
  // third quartile; of fewer than kFewRuns from the shortest to the longest.
  double spread = 0;
};

// The middle of several values and how far they are apart, as Measured has it.
struct Spread {
  double median = 0;
  int64_t repeats = 0;
  double apart = 0;
};
Spread SpreadOf(std::vector<double> values);  // at least one (CHECK), above zero

// Adds a measured point to a rate that depends on a size: `work` (bytes, flops, ...) took that long
// at `x`. The curve's repeats are those of the point with the fewest, its spread that of the
// widest.
void AddPoint(Curve& curve, double x, double work, const Measured& measured);

// Shares a fixed time between a known number of measurements, so that all of them together end in
// time: what one does not use, the others have. One thread.
class MeasuringTime {
 public:
  // `count` measurements will follow, to be done `total` from now. `on_measured`, which may be
  // empty, hears after each how many are done.
  MeasuringTime(Clock& clock, Nanoseconds total, int64_t count,
                std::function<void(int64_t done)> on_measured = {});

  // Runs `work` once unmeasured, to have pages and caches as they will be, then once and again
  // until its share of the time is used up (or kMostRepeats). The first error of `work` ends it.
  absl::StatusOr<Measured> Measure(absl::FunctionRef<absl::Status()> work);
  // The same of work that tells itself how many seconds it took: a device has events for that.
  absl::StatusOr<Measured> MeasureTold(absl::FunctionRef<absl::StatusOr<double>()> work);
  // The seconds `work` takes when the machine is as fast as it usually is: when `yardstick`, fixed
  // work that returns the seconds it took, takes `usual` seconds. Both are run in turn, `work`
  // often enough to take about as long, and what is compared lies side by side.
  absl::StatusOr<Measured> MeasureAgainst(absl::FunctionRef<absl::Status()> work,
                                          absl::FunctionRef<absl::StatusOr<double>()> yardstick,
                                          double usual);
  // Seconds that the next measurement may take.
  double Share() const;

  static constexpr int64_t kMostRepeats = 1000;
  static constexpr int64_t kMostAtOnce = 100;  // runs between two of a yardstick

 private:
  Clock& clock_;
  Nanoseconds deadline_;
  int64_t left_;
  int64_t done_ = 0;
  std::function<void(int64_t done)> on_measured_;
};

}  // namespace horizon
