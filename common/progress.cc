#include "common/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "common/checked.h"
#include "common/text/printable.h"
#include "common/text/str_cat.h"
#include "common/units.h"

namespace horizon {
namespace {

constexpr std::string_view kEraseLine = "\r\x1b[K";

double InSeconds(Nanoseconds duration) { return static_cast<double>(duration.count()) * 1e-9; }

std::string TwoParts(int64_t first, std::string_view first_unit, int64_t second,
                     std::string_view second_unit) {
  return StrCat(first, " ", first_unit, second < 10 ? " 0" : " ", second, " ", second_unit);
}

// At most `columns` bytes, not cut inside a UTF-8 letter.
std::string Cut(std::string line, int columns) {
  size_t end = static_cast<size_t>(std::max(columns, 1));
  if (line.size() <= end) return line;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;
  line.resize(end);
  return line;
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

Progress::Progress(Clock& clock, Sink sink, ProgressOptions options)
    : clock_(clock),
      sink_(std::move(sink)),
      options_(std::move(options)),
      start_(clock.Now()),
      // Short work needs no lines in a file; on a terminal one looks at it right away.
      next_(options_.style == ProgressStyle::kTerminal ? start_ : start_ + options_.line_interval) {
}

Progress::~Progress() {
  if (drawn_) sink_("\n");
}

void Progress::Update(uint64_t done) {
  const Nanoseconds now = clock_.Now();
  if (finished_ || now < next_) return;
  const bool terminal = options_.style == ProgressStyle::kTerminal;
  next_ = now + (terminal ? options_.redraw_interval : options_.line_interval);
  Draw(Line(done, now - start_));
}

void Progress::Finish(uint64_t done) {
  if (std::exchange(finished_, true)) return;
  const Nanoseconds elapsed = clock_.Now() - start_;
  Draw(StrCat(options_.what, ": ", Amount(done), " in ", RoughDuration(elapsed),
              Rate(done, elapsed)));
  if (std::exchange(drawn_, false)) sink_("\n");
}

void Progress::Draw(const std::string& line) {
  if (options_.style == ProgressStyle::kLines) {
    sink_(Printable(line) + "\n");
    return;
  }
  // One column stays free: a full line makes some terminals wrap.
  sink_(StrCat(kEraseLine, Cut(Printable(line), options_.columns - 1)));
  drawn_ = true;
}

std::string Progress::Line(uint64_t done, Nanoseconds elapsed) const {
  std::string line = StrCat(options_.what, ": ", Amount(done));
  if (options_.total > 0) {
    const double share = static_cast<double>(done) / static_cast<double>(options_.total);
    // Rounded down: 100 % is said when all is done.
    line += StrCat(" of ", Amount(options_.total), ", ",
                   static_cast<int>(std::min(share, 1.0) * 100), " %");
  }
  line += Rate(done, elapsed);
  if (done > 0 && done < options_.total) {
    const double left =
        InSeconds(elapsed) * static_cast<double>(options_.total - done) / static_cast<double>(done);
    // Beyond a century the number only says that it cannot be said.
    constexpr double kMostSeconds = 100.0 * 365 * 86400;
    if (left > 0 && left < kMostSeconds) {
      line += StrCat(", ", RoughDuration(Nanoseconds(std::llround(left * 1e9))), " left");
    }
  }
  return line;
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
