#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

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

// How a look at the speed is taken.
struct SpeedMeasurement {
  Seconds time{1.5};
  // Memory that is there already, to look at memory's speed in; what it holds is lost. Used if it
  // has Yardstick::kMemoryBytes.
  std::span<std::byte> borrowed;
  // Otherwise the look may take so much more for its own use: memory's speed takes
  // kMemorySpeedBytes or is not looked at.
  uint64_t may_take = std::numeric_limits<uint64_t>::max();
};
inline constexpr uint64_t kMemorySpeedBytes = uint64_t{112} << 20;
// What the products take: three matrices, scratch of the threads, the library's buffers.
inline constexpr uint64_t kGemmSpeedBytes = uint64_t{16} << 20;

// Runs the profile's yardsticks (yardstick.h) again for about `look.time`, on `threads` threads:
// those the profile was measured with. Where memory's speed is not looked at, the share of the
// products stands for both: what holds a machine up holds up both as a rule. Shares of 1 where the
// profile has no yardsticks (a machine of the catalog), or where less than kGemmSpeedBytes may be
// taken. ResourceExhausted without memory or threads.
absl::StatusOr<MachineSpeed> MeasureSpeed(Clock& clock, const HardwareProfile& profile,
                                          int64_t threads, const SpeedMeasurement& look = {});

// The machine at that speed: every rate that the host's cores or its memory set. A GPU's own rates,
// its link and disks do not change with the host.
HardwareProfile AtSpeed(HardwareProfile profile, const MachineSpeed& speed);

}  // namespace horizon
