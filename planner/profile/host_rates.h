#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/units.h"
#include "simulator/hardware_profile.h"

namespace horizon {

inline constexpr Bytes kLeastArenaBytes = 24_MiB;

// How the rates of this machine are to be measured.
struct HostRates {
  Seconds time{5};                                // all measurements together
  int64_t cores = 1;                              // threads of the widest measurement, 1 to 1024
  Bytes arena_bytes;                              // memory to measure in, at least kLeastArenaBytes
  std::string when;                               // the date, for the profile
  bool quick = true;                              // few sizes of each curve; else more
  std::function<void(int64_t done)> on_measured;  // of HostRateCount; may be empty
};
// How many measurements there are.
int64_t HostRateCount(const HostRates& rates);

// Fills in every rate of `profile`, each marked `measured` with repeats and spread: what device
// `host` does in a step, by our own kernels on our own threads. Arrays that a step streams are
// walked through so that no cache holds them. Each rate is a median; the time is shared evenly, and
// where it is too short each is still measured once. Uses the calling thread, cores - 1 others (and
// sleeping ones), the arena and 2 MiB a thread; gives all of it back. ResourceExhausted without
// memory or threads.
absl::Status MeasureHostRates(Clock& clock, const HostRates& rates, HardwareProfile& profile);

}  // namespace horizon
