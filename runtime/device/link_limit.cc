#include "runtime/device/link_limit.h"

#include <cmath>

namespace horizon {

LinkLimit::Transfer::Transfer(LinkLimit& limit) : limit_(limit) {
  if (!limit_.limited()) return;
  turn_ = std::unique_lock(limit_.turn_);
  begin_ = limit_.clock_.Now();
}

bool LinkLimit::Transfer::AwaitCrossed(Bytes bytes, const std::stop_token& stop) {
  if (!limit_.limited()) return !stop.stop_requested();
  const double needed = std::ceil(static_cast<double>(bytes) * 1e9 / limit_.rate_->value);
  const auto left = static_cast<double>((Nanoseconds::max() - begin_).count());
  // A rate next to nothing asks for longer than the clock counts.
  const Nanoseconds deadline =
      needed < left ? begin_ + Nanoseconds(static_cast<int64_t>(needed)) : Nanoseconds::max();
  return limit_.clock_.WaitUntil(deadline, stop);
}

}  // namespace horizon
