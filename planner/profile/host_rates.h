#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/units.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// The smallest arena that the measurements fit into.
inline constexpr Bytes kLeastArenaBytes = 24_MiB;

// How to measure the rates of this machine.
struct HostRateOptions {
  Seconds time{5};    // for all measurements together
  int64_t cores = 1;  // threads of the widest measurement, 1 to 1024 (CHECK)
  Bytes arena_bytes;  // memory to measure in, at least kLeastArenaBytes (CHECK)
  std::string when;   // the date, for the profile
  bool quick = true;  // fewer sizes for each curve
  // Called after each measurement with how many of HostRateCount are done; may be empty.
  std::function<void(int64_t done)> on_measured;
};
// How many measurements MeasureHostRates makes.
int64_t HostRateCount(const HostRateOptions& options);

// Measures every rate of device `host`, of its copies and of the host, with the kernels and threads
// that a run uses, and writes them into `profile`. Each rate is a median and is marked `measured`
// with repeats and spread. Arrays that a step streams are too large for caches here too.
//
// The measurements share the time evenly; if it is too short, each is still made once. Uses the
// calling thread, cores - 1 others (and sleeping ones), the arena and 2 MiB per thread, and
// releases all of it. ResourceExhausted if there is too little memory, or threads cannot be
// started.
absl::Status MeasureHostRates(Clock& clock, const HostRateOptions& options,
                              HardwareProfile& profile);

}  // namespace horizon
