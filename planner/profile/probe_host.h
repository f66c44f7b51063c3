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

// How to measure this machine as device `host`.
struct HostProbe {
  Seconds time{5};  // for all measurements together; a slow machine may need a little more
  // Size of the arena that plays the part of device memory; none: a quarter of the usable RAM.
  std::optional<Bytes> device_memory;
  std::optional<int64_t> threads;  // none: every core that the process may use
  std::string when;                // the date, for the profile
  bool quick = true;               // as in HostRateOptions
  // Called after each measurement with how many of how many are done; may be empty.
  std::function<void(int64_t done, int64_t total)> on_measured;
};

// Updates the amounts of memory in a profile that was measured earlier: the memory available now,
// and how much of it the process may use. Of device `host` it also updates the device memory, which
// is a quarter of the usable RAM.
void SetHostMemory(const HostLimits& limits, HardwareProfile& profile);

// Measures this machine as device `host` uses it: with the kernels and threads of a run, over
// arrays too large for caches where a step streams them. Every rate is marked `measured` with
// repeats and spread; sizes of memory are those that the operating system reports (host_limits.h).
// With two or more cores it also measures how much lanes slow each other down. Uses the calling
// thread, as many others as there are cores, and up to 192 MiB plus 2 MiB per thread, and releases
// all of it. Returns ResourceExhausted if there is too little memory to measure in, and errors of
// ReadHostLimits.
absl::StatusOr<HardwareProfile> ProbeHost(Io& io, Clock& clock, const HostProbe& probe);

}  // namespace horizon
