#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/files/io.h"
#include "common/units.h"
#include "planner/profile/host/host_limits.h"
#include "simulator/hardware_profile.h"

namespace horizon {

struct HostProbe {
  Seconds time{5};  // all measurements together; a slow machine may need a little more
  // Of the arena that stands for a device's memory; none: a quarter of the RAM there is.
  std::optional<Bytes> device_memory;
  std::optional<int64_t> threads;  // none: every core the process may use
  std::string when;                // the date, for the profile
  bool quick = true;               // as HostRates has it
  // Hears how many measurements of how many are done; may be empty.
  std::function<void(int64_t done, int64_t total)> on_measured;
};

// Sets what there is of memory, and what the process may use of it, to what it is now: in a profile
// that was measured some time ago. Of device `host` also the quarter of it that stands for its own.
void SetHostMemory(const HostLimits& limits, HardwareProfile& profile);

// Measures this machine as device `host` uses it: our own kernels, on our own threads, over arrays
// too large for caches where a step streams them. Every rate is marked `measured`, with repeats and
// spread; sizes of memory are what the kernel tells (host_limits.h). Last comes what lanes lose to
// each other, where there are two cores or more. Uses the calling thread and as many others as
// there are cores, up to 192 MiB and 2 MiB a thread, and leaves nothing behind. ResourceExhausted
// when there is too little memory to measure in; errors of ReadHostLimits.
absl::StatusOr<HardwareProfile> ProbeHost(Io& io, Clock& clock, const HostProbe& probe);

}  // namespace horizon
