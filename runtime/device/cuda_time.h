#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "common/clock.h"
#include "runtime/device/cuda_handles.h"

namespace horizon {

// How the times of CUDA events become times of our clock. CUDA only tells how long after another an
// event passed, as a float of milliseconds. So there is an anchor, an event whose time on our clock
// is known, and a new one before the float becomes coarse.
struct TimeAnchor {
  UniqueEvent event;
  Nanoseconds time{0};
};

// An anchor of now, on a stream that has nothing to do; waits for it.
cudaError_t MakeTimeAnchor(Clock& clock, cudaStream_t idle,
                           std::shared_ptr<const TimeAnchor>& anchor);
// Events that are recorded from now on want a younger one: times from it are good to a microsecond
// no longer.
bool IsOld(const TimeAnchor& anchor, Nanoseconds now);
// When the event passed; cudaErrorNotReady before it has.
cudaError_t TimeOfEvent(const TimeAnchor& anchor, cudaEvent_t event, Nanoseconds& time);

}  // namespace horizon
