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

// How fast this machine is now, as a share of its speed when a profile was measured.
struct MachineSpeed {
  double gemm = 1;    // speed of work that arithmetic limits, measured with a GEMM
  double memory = 1;  // speed of work that memory bandwidth limits
};

// Converts a speed relative to `profile` into a speed relative to `other`, which is another profile
// of the same machine. A share for which either profile has no yardstick stays as it is.
MachineSpeed SpeedRelativeTo(const HardwareProfile& other, const HardwareProfile& profile,
                             const MachineSpeed& speed);

// How to measure the speed.
struct SpeedMeasurement {
  Seconds time{1.5};
  // Existing memory to measure the speed of memory in; its contents are lost. It is used if it has
  // at least Yardstick::kMemoryBytes.
  std::span<std::byte> borrowed;
  // The most bytes that the measurement may allocate. Below kGemmSpeedBytes nothing is measured.
  // Without borrowed memory, the speed of memory is measured only from kMemorySpeedBytes on.
  uint64_t max_extra_bytes = std::numeric_limits<uint64_t>::max();
};
// Memory that measuring both speeds takes.
inline constexpr uint64_t kMemorySpeedBytes = uint64_t{112} << 20;
// Memory that measuring GEMMs takes: three matrices, scratch of the threads, buffers of the
// library.
inline constexpr uint64_t kGemmSpeedBytes = uint64_t{16} << 20;

// Runs the yardsticks (yardstick.h) again for about `options.time` and compares them with those of
// the profile. `threads` is the number of threads that the profile was measured with. Where the
// speed of memory is not measured, the speed of GEMMs stands for both, because what slows a machine
// down usually slows both. Returns shares of 1 where the profile has no yardsticks (a machine of
// the catalog), or where max_extra_bytes is below kGemmSpeedBytes. ResourceExhausted if there is
// too little memory, or threads cannot be started.
absl::StatusOr<MachineSpeed> MeasureSpeed(Clock& clock, const HardwareProfile& profile,
                                          int64_t threads, const SpeedMeasurement& options = {});

// The profile of the machine at that speed: scales every rate that depends on the host's cores or
// its memory. The rates of a GPU, of its link and of disks stay as they are.
HardwareProfile AtSpeed(HardwareProfile profile, const MachineSpeed& speed);

}  // namespace horizon
