#pragma once

#include <deque>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/text/str_cat.h"
#include "runtime/device/device.h"

namespace horizon {

// Look up a device's own record of a stream or event by its handle. Every device uses these, so
// that all return the same error for a handle they do not know.
template <typename Stream>
absl::StatusOr<Stream*> FindStream(std::deque<Stream>& streams, StreamRef stream) {
  if (stream.index < 0 || stream.index >= static_cast<int>(streams.size())) {
    return absl::InvalidArgumentError(StrCat("the device has no stream ", stream.index));
  }
  return &streams[static_cast<size_t>(stream.index)];
}

template <typename Event>
absl::StatusOr<Event*> FindEvent(std::deque<Event>& events, EventRef event) {
  if (event.index < 0 || event.index >= static_cast<int>(events.size())) {
    return absl::InvalidArgumentError(StrCat("the device has no event ", event.index));
  }
  return &events[static_cast<size_t>(event.index)];
}

// The error for waiting on an event that was never recorded. `who` waits.
inline absl::Status NeverRecorded(EventRef event, std::string_view who) {
  return absl::FailedPreconditionError(StrCat(who, ": event ", event.index, " was never recorded"));
}

// Finds an event that has been recorded. Event has a field `recorded`.
template <typename Event>
absl::StatusOr<Event*> FindRecorded(std::deque<Event>& events, EventRef event,
                                    std::string_view who) {
  absl::StatusOr<Event*> found = FindEvent(events, event);
  if (found.ok() && !(*found)->recorded) return NeverRecorded(event, who);
  return found;
}

}  // namespace horizon
