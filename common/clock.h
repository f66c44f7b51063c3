#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>
#include <stop_token>

namespace horizon {

using Nanoseconds = std::chrono::nanoseconds;

// The source of time for everything that waits, measures or limits a rate. The program uses
// RealClock; tests use VirtualClock and move the time by hand. Any thread may call any function.
class Clock {
 public:
  virtual ~Clock() = default;
  // Nanoseconds since some fixed moment. The value never decreases.
  virtual Nanoseconds Now() = 0;
  // Blocks until Now() >= deadline and returns true, or returns false if `stop` is requested before
  // that. It does not block if the deadline has passed.
  virtual bool WaitUntil(Nanoseconds deadline, std::stop_token stop = {}) = 0;
  // The system's time in seconds since the start of 1970 (UTC). Use it for dates only: it may jump.
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

// A clock for tests; it starts at zero. With kByHand the time moves only when Advance is called.
// With kSleepAdvances a wait returns at once and moves the time to its deadline, which suits tests
// that use one thread.
class VirtualClock final : public Clock {
 public:
  enum class Mode { kByHand, kSleepAdvances };
  explicit VirtualClock(Mode mode = Mode::kByHand) : mode_(mode) {}

  Nanoseconds Now() override;
  bool WaitUntil(Nanoseconds deadline, std::stop_token stop = {}) override;
  int64_t UnixSeconds() override;  // whole seconds of Now()
  // Moves the time forward by `duration` (>= 0) and wakes every wait whose deadline it reaches.
  void Advance(Nanoseconds duration);
  // Blocks until at least `count` threads are inside WaitUntil with a deadline that is still ahead.
  // Tests call it instead of sleeping "long enough".
  void AwaitSleepers(int count);

 private:
  const Mode mode_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  Nanoseconds now_{0};  // guarded by mutex_
  std::multiset<Nanoseconds>
      waits_;  // deadlines of the threads inside WaitUntil; guarded by mutex_
};

}  // namespace horizon
