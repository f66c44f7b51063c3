#include "common/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "common/checked.h"
#include "common/text/str_cat.h"
#include "common/units.h"

namespace horizon {
namespace {

double InSeconds(Nanoseconds duration) { return static_cast<double>(duration.count()) * 1e-9; }

std::string TwoParts(int64_t first, std::string_view first_unit, int64_t second,
                     std::string_view second_unit) {
  return StrCat(first, " ", first_unit, second < 10 ? " 0" : " ", second, " ", second_unit);
}

}  // namespace

std::string RoughDuration(Nanoseconds duration) {
  const int64_t seconds = std::max<int64_t>(0, std::llround(InSeconds(duration)));
  constexpr int64_t kMinute = 60;
  constexpr int64_t kHour = 60 * kMinute;
  constexpr int64_t kDay = 24 * kHour;
  if (seconds < kMinute) return StrCat(seconds, " s");
  if (seconds < kHour) return TwoParts(seconds / kMinute, "min", seconds % kMinute, "s");
  if (seconds < kDay) return TwoParts(seconds / kHour, "h", seconds % kHour / kMinute, "min");
  return TwoParts(seconds / kDay, "d", seconds % kDay / kHour, "h");
}

Progress::Progress(Log& log, Clock& clock, ProgressOptions options)
    : clock_(clock), options_(std::move(options)), start_(clock.Now()), line_(log, clock) {}

void Progress::Update(uint64_t done) {
  if (finished_ || !line_.IsDue()) return;
  line_.Show(Line(done, clock_.Now() - start_));
}

void Progress::Finish(uint64_t done) {
  if (std::exchange(finished_, true)) return;
  const Nanoseconds elapsed = clock_.Now() - start_;
  line_.Finish({{StrCat(options_.what, ": ", Amount(done), " in ", RoughDuration(elapsed))},
                {Rate(done, elapsed), 1}});
}

std::vector<LinePart> Progress::Line(uint64_t done, Nanoseconds elapsed) const {
  std::vector<LinePart> parts = {{StrCat(options_.what, ": ", Amount(done))}};
  if (options_.total > 0) {
    const double share = static_cast<double>(done) / static_cast<double>(options_.total);
    // Rounded down: 100 % is said when all is done.
    parts.push_back({StrCat(" of ", Amount(options_.total), ", ",
                            static_cast<int>(std::min(share, 1.0) * 100), " %")});
  }
  parts.push_back({Rate(done, elapsed), 1});
  if (done > 0 && done < options_.total) {
    const double left =
        InSeconds(elapsed) * static_cast<double>(options_.total - done) / static_cast<double>(done);
    // Beyond a century the number only says that it cannot be said.
    constexpr double kMostSeconds = 100.0 * 365 * 86400;
    if (left > 0 && left < kMostSeconds) {
      parts.push_back(
          {StrCat(", ", RoughDuration(Nanoseconds(std::llround(left * 1e9))), " left")});
    }
  }
  return parts;
}

std::string Progress::Amount(uint64_t amount) const {
  return options_.unit == ProgressUnit::kBytes ? BytesText(amount) : WithCommas(amount);
}

std::string Progress::Rate(uint64_t done, Nanoseconds elapsed) const {
  if (done == 0 || elapsed <= Nanoseconds::zero()) return "";
  const double rate = static_cast<double>(done) / InSeconds(elapsed);
  if (options_.unit == ProgressUnit::kBytes) return ", " + ToString(BytesPerSecond{rate});
  char text[48];
  std::snprintf(text, sizeof(text), rate < 100 ? ", %.3g/s" : ", %.0f/s", rate);
  return text;
}

}  // namespace horizon
