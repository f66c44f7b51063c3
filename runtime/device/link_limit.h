#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>

#include "common/clock.h"
#include "common/units.h"

namespace horizon {

// Emulates one direction of a link with a given bandwidth (the option --link). Transfers take
// turns, as on a copy engine, so any two transfers together take as long as the sum of their bytes
// requires. Without a rate nothing is slowed down. Thread-safe.
class LinkLimit {
 public:
  LinkLimit(std::optional<BytesPerSecond> rate, Clock& clock) : rate_(rate), clock_(clock) {}

  bool limited() const { return rate_.has_value(); }

  // A transfer in progress. It has the direction to itself from construction to destruction.
  class Transfer {
   public:
    explicit Transfer(LinkLimit& limit);
    // Blocks until `bytes`, counted from the transfer's beginning, may have crossed the link: until
    // begin + bytes / rate, rounded up to a nanosecond. The bound is on the whole transfer, so a
    // late call does not add to it. Returns false when `stop` was requested first.
    bool AwaitCrossed(Bytes bytes, const std::stop_token& stop);

   private:
    LinkLimit& limit_;
    std::unique_lock<std::mutex> turn_;
    Nanoseconds begin_{0};
  };

 private:
  const std::optional<BytesPerSecond> rate_;
  Clock& clock_;
  std::mutex turn_;
};

}  // namespace horizon
