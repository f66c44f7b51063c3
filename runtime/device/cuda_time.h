#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "common/clock.h"
#include "runtime/device/cuda_handles.h"

namespace horizon {

// Converts the times of CUDA events to times of our clock. CUDA only reports how long after another
// event an event passed, as a float in milliseconds. So we keep a time base, an event whose time on
// our clock is known, and replace it before the float becomes coarse.
struct TimeBase {
  UniqueEvent event;
  Nanoseconds time{0};
};

// Makes a time base at the present time. `idle` is a stream without work; the call waits for the
// event on it.
cudaError_t MakeTimeBase(Clock& clock, cudaStream_t idle,
                         std::shared_ptr<const TimeBase>& time_base);
// Whether the time base is more than 10 seconds old. Events recorded from now on then need a newer
// one: times measured from this one are no longer exact to a microsecond.
bool IsOld(const TimeBase& time_base, Nanoseconds now);
// Sets `time` to when the event passed; cudaErrorNotReady before it has. `time_base` is the one
// that was current when the event was recorded.
cudaError_t TimeOfEvent(const TimeBase& time_base, cudaEvent_t event, Nanoseconds& time);

}  // namespace horizon
