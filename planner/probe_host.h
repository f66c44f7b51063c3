#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/io.h"
#include "common/units.h"
#include "simulator/hardware_profile.h"

namespace horizon {

struct HostProbe {
  Seconds time{5};  // all measurements together; a slow machine may need a little more
  // Of the arena that stands for a device's memory; none: a quarter of the RAM there is.
  std::optional<Bytes> device_memory;
  std::optional<int64_t> threads;  // none: every core the process may use
  std::string when;                // the date, for the profile
};

// Measures this machine as device `host` uses it: our own kernels, on our own threads, over arrays
// too large for caches where a step streams them. Every rate is marked `measured`, with repeats and
// spread; sizes of memory are what the kernel tells (host_limits.h). Uses the calling thread and as
// many others as there are cores, up to 192 MiB and 2 MiB a thread, and leaves nothing behind.
// ResourceExhausted when there is too little memory to measure in; errors of ReadHostLimits.
absl::StatusOr<HardwareProfile> ProbeHost(Io& io, Clock& clock, const HostProbe& probe);

}  // namespace horizon
