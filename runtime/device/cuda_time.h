#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "common/clock.h"
#include "runtime/device/cuda_handles.h"

namespace horizon {

// How the times of CUDA events become times of our clock. CUDA only tells how long after another an
// event passed, as a float of milliseconds. So there is a time base, an event whose time on our
// clock is known, and a new one before the float becomes coarse.
struct TimeBase {
  UniqueEvent event;
  Nanoseconds time{0};
};

// A time base of now, on a stream that has nothing to do; waits for it.
cudaError_t MakeTimeBase(Clock& clock, cudaStream_t idle,
                         std::shared_ptr<const TimeBase>& time_base);
// Events that are recorded from now on want a younger one: times from it are good to a microsecond
// no longer.
bool IsOld(const TimeBase& time_base, Nanoseconds now);
// When the event passed; cudaErrorNotReady before it has.
cudaError_t TimeOfEvent(const TimeBase& time_base, cudaEvent_t event, Nanoseconds& time);

}  // namespace horizon
