#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>

#include "common/clock.h"
#include "common/units.h"

namespace horizon {

// One direction of a link of known bandwidth. Transfers take turns, as on a copy engine, so any two
// together take as long as their bytes. Without a rate nothing is held up. Any threads.
class LinkLimit {
 public:
  LinkLimit(std::optional<BytesPerSecond> rate, Clock& clock) : rate_(rate), clock_(clock) {}

  bool limited() const { return rate_.has_value(); }

  // A transfer under way: has the direction to itself from construction to destruction.
  class Transfer {
   public:
    explicit Transfer(LinkLimit& limit);
    // Blocks until `bytes`, counted from the transfer's beginning, may have crossed: begin + bytes
    // / rate, rounded up to a nanosecond. A late call makes up for it: the bound is on the whole.
    // False when `stop` came first.
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
