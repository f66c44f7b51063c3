#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/units.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// How fast this machine is now, as a share of what it was when a profile was measured.
struct MachineSpeed {
  double products = 1;
  double memory = 1;
};

// That speed as a share of what another profile of the same machine was measured at.
MachineSpeed AsShareOf(const HardwareProfile& other, const HardwareProfile& profile,
                       const MachineSpeed& speed);

// Runs the profile's yardsticks (yardstick.h) again for about `time`, on `threads` threads: those
// the profile was measured with. Shares of 1 where the profile has no yardsticks (a machine of the
// catalog). ResourceExhausted without memory or threads.
absl::StatusOr<MachineSpeed> MeasureSpeed(Clock& clock, const HardwareProfile& profile,
                                          int64_t threads, Seconds time = Seconds{1.5});

// The machine at that speed: every rate that the host's cores or its memory set. A GPU's own rates,
// its link and disks do not change with the host.
HardwareProfile AtSpeed(HardwareProfile profile, const MachineSpeed& speed);

}  // namespace horizon
