#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>
#include <stop_token>

namespace horizon {

using Nanoseconds = std::chrono::nanoseconds;

// Time for everything that waits, measures or limits a rate, so that tests turn it by hand. All
// calls may be made from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  // Nanoseconds since some fixed moment; never goes back.
  virtual Nanoseconds Now() = 0;
  // Blocks until Now() >= deadline (true) or `stop` is requested before that (false). A deadline
  // that has passed does not block.
  virtual bool WaitUntil(Nanoseconds deadline, std::stop_token stop = {}) = 0;
  // Seconds since the begin of 1970 (UTC) as the system has them: for dates, since it may jump.
  virtual int64_t UnixSeconds();
  // WaitUntil(Now() + duration); a duration of zero or less does not block.
  bool SleepFor(Nanoseconds duration, std::stop_token stop = {});
};

// The machine's monotonic clock.
class RealClock final : public Clock {
 public:
  Nanoseconds Now() override;
  bool WaitUntil(Nanoseconds deadline, std::stop_token stop = {}) override;
};

// A clock for tests, starting at zero. By hand it moves only by Advance; with kSleepAdvances a wait
// returns at once and moves the time to its deadline, which suits tests of one thread.
class VirtualClock final : public Clock {
 public:
  enum class Mode { kByHand, kSleepAdvances };
  explicit VirtualClock(Mode mode = Mode::kByHand) : mode_(mode) {}

  Nanoseconds Now() override;
  bool WaitUntil(Nanoseconds deadline, std::stop_token stop = {}) override;
  int64_t UnixSeconds() override;  // whole seconds of Now()
  // Moves the time forward (duration >= 0) and wakes the waits it reaches.
  void Advance(Nanoseconds duration);
  // Blocks until at least `count` threads are inside WaitUntil with a deadline still ahead. Tests
  // use it in place of sleeping "long enough".
  void AwaitSleepers(int count);

 private:
  const Mode mode_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  Nanoseconds now_{0};                // guarded by mutex_
  std::multiset<Nanoseconds> waits_;  // deadlines of the threads inside WaitUntil; by mutex_
};

}  // namespace horizon
