#include "common/clock.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "common/check.h"

namespace horizon {

bool Clock::SleepFor(Nanoseconds duration, std::stop_token stop) {
  const Nanoseconds now = Now();
  // "For ever" is said with the largest duration, which must not wrap into the past.
  const Nanoseconds deadline =
      duration > Nanoseconds::max() - now ? Nanoseconds::max() : now + duration;
  return WaitUntil(deadline, std::move(stop));
}

int64_t Clock::UnixSeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Nanoseconds RealClock::Now() {
  return std::chrono::duration_cast<Nanoseconds>(
      std::chrono::steady_clock::now().time_since_epoch());
}

bool RealClock::WaitUntil(Nanoseconds deadline, std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  // In slices of an hour: the library adds the deadline to other clocks, where the largest
  // overflows.
  while (!stop.stop_requested()) {
    const Nanoseconds now = Now();
    if (now >= deadline) return true;
    const Nanoseconds slice = std::min<Nanoseconds>(deadline - now, std::chrono::hours(1));
    stopped.wait_for(lock, stop, slice, [] { return false; });
  }
  return Now() >= deadline;
}

Nanoseconds VirtualClock::Now() {
  const std::scoped_lock lock(mutex_);
  return now_;
}

int64_t VirtualClock::UnixSeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(Now()).count();
}

bool VirtualClock::WaitUntil(Nanoseconds deadline, std::stop_token stop) {
  std::unique_lock lock(mutex_);
  if (mode_ == Mode::kSleepAdvances) {
    if (now_ < deadline && stop.stop_requested()) return false;
    now_ = std::max(now_, deadline);
    return true;
  }
  const auto wait = waits_.insert(deadline);
  changed_.notify_all();
  const bool reached = changed_.wait(lock, stop, [&] { return now_ >= deadline; });
  waits_.erase(wait);
  return reached;
}

void VirtualClock::Advance(Nanoseconds duration) {
  CHECK(duration >= Nanoseconds::zero());
  const std::scoped_lock lock(mutex_);
  now_ += duration;
  changed_.notify_all();
}

void VirtualClock::AwaitSleepers(int count) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock,
                [&] { return std::distance(waits_.upper_bound(now_), waits_.end()) >= count; });
}

}  // namespace horizon
