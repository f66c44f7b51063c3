#include "planner/measure.h"

#include <algorithm>
#include <vector>

#include "common/check.h"
#include "common/status_macros.h"

namespace horizon {

MeasuringTime::MeasuringTime(Clock& clock, Nanoseconds total, int64_t count)
    : clock_(clock), deadline_(clock.Now() + total), left_(count) {}

absl::StatusOr<Measured> MeasuringTime::Measure(absl::FunctionRef<absl::Status()> work) {
  CHECK(left_ > 0);
  Nanoseconds now = clock_.Now();
  const Nanoseconds end = now + (deadline_ - now) / left_--;
  RETURN_IF_ERROR(work());
  std::vector<double> seconds;
  now = clock_.Now();
  do {
    RETURN_IF_ERROR(work());
    const Nanoseconds after = clock_.Now();
    // A clock may not tell two moments apart; no work takes no time.
    seconds.push_back(std::chrono::duration<double>(std::max(Nanoseconds(1), after - now)).count());
    now = after;
  } while (now < end && static_cast<int64_t>(seconds.size()) < kMostRepeats);
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds[seconds.size() / 2];
  return Measured{.seconds = median,
                  .repeats = static_cast<int64_t>(seconds.size()),
                  .spread = std::min(kMostSpread, (seconds.back() - seconds.front()) / median)};
}

}  // namespace horizon
