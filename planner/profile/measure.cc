#include "planner/profile/measure.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/statistics.h"
#include "common/status_macros.h"

namespace horizon {

Spread SpreadOf(std::vector<double> values) {
  CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const double median = Median(values);
  // One run in a thousand that was held up says nothing of the others.
  const size_t out = values.size() < kFewRuns ? 0 : values.size() / 4;
  const double apart = values[values.size() - 1 - out] - values[out];
  return {.median = median,
          .repeats = static_cast<int64_t>(values.size()),
          .apart = std::min(kMostSpread, apart / median)};
}

void AddPoint(Curve& curve, double x, double work, const Measured& measured) {
  Origin& origin = curve.origin;
  origin.repeats =
      curve.points.empty() ? measured.repeats : std::min(origin.repeats, measured.repeats);
  origin.spread = std::max(origin.spread, measured.spread);
  curve.points.push_back({x, work / measured.seconds});
}

MeasuringTime::MeasuringTime(Clock& clock, Nanoseconds total, int64_t count,
                             std::function<void(int64_t done)> on_measured)
    : clock_(clock),
      deadline_(clock.Now() + total),
      left_(count),
      on_measured_(std::move(on_measured)) {}

double MeasuringTime::Share() const {
  return std::chrono::duration<double>(deadline_ - clock_.Now()).count() /
         static_cast<double>(std::max<int64_t>(1, left_));
}

absl::StatusOr<Measured> MeasuringTime::Measure(absl::FunctionRef<absl::Status()> work) {
  return MeasureSelfTimed([&]() -> absl::StatusOr<double> {
    const Nanoseconds begin = clock_.Now();
    RETURN_IF_ERROR(work());
    return std::chrono::duration<double>(clock_.Now() - begin).count();
  });
}

absl::StatusOr<Measured> MeasuringTime::MeasureAgainst(
    absl::FunctionRef<absl::Status()> work, absl::FunctionRef<absl::StatusOr<double>()> yardstick,
    double usual) {
  CHECK(usual > 0);
  const auto run = [&](int64_t times) -> absl::StatusOr<double> {
    const Nanoseconds begin = clock_.Now();
    for (int64_t i = 0; i < times; ++i) RETURN_IF_ERROR(work());
    return std::chrono::duration<double>(clock_.Now() - begin).count() / static_cast<double>(times);
  };
  RETURN_IF_ERROR(work());
  ASSIGN_OR_RETURN(const double alone, run(1));
  const auto at_once = static_cast<int64_t>(
      std::clamp(usual / std::max(1e-9, alone), 1.0, static_cast<double>(kMostAtOnce)));
  ASSIGN_OR_RETURN(double before, yardstick());
  return MeasureSelfTimed([&]() -> absl::StatusOr<double> {
    ASSIGN_OR_RETURN(const double took, run(at_once));
    ASSIGN_OR_RETURN(const double after, yardstick());
    const double speed = 2 * usual / (std::exchange(before, after) + after);
    return took * speed;
  });
}

absl::StatusOr<Measured> MeasuringTime::MeasureSelfTimed(
    absl::FunctionRef<absl::StatusOr<double>()> work) {
  CHECK(left_ > 0);
  const Nanoseconds begin = clock_.Now();
  const Nanoseconds end = begin + (deadline_ - begin) / left_--;
  RETURN_IF_ERROR(work().status());
  std::vector<double> seconds;
  do {
    ASSIGN_OR_RETURN(const double took, work());
    // A clock may not tell two moments apart; no work takes no time.
    seconds.push_back(std::max(1e-9, took));
  } while (clock_.Now() < end && static_cast<int64_t>(seconds.size()) < kMostRepeats);
  ++done_;
  if (on_measured_) on_measured_(done_);
  const Spread spread = SpreadOf(std::move(seconds));
  return Measured{.seconds = spread.median, .repeats = spread.repeats, .spread = spread.apart};
}

}  // namespace horizon
