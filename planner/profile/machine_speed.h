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

// The speed to expect of the machine over the seconds or hours that follow measurements of `time`
// each, at least one (CHECK). A measurement of a second or two says less than it seems: it may fall
// into one of the moments in which a shared machine is held up, which a long run averages out. So
// the result is the median of the measurements, drawn towards the profile's own speed, 1, the more
// the nearer the median is to 1 in units of its noise. How noisy it is follows from how far apart
// the yardsticks were while the profile was measured. For example, where a measurement has a noise
// of 6 %, a measured 0.93 becomes 0.98, 0.85 becomes 0.89 and 0.6 becomes 0.63.
MachineSpeed ExpectSpeed(const HardwareProfile& profile, std::span<const MachineSpeed> measured,
                         Seconds time);

// The standard deviation, as a share, of a speed that is measured for `time`: in windows of
// kSpeedWindow the yardstick was as far apart as its figure says, and longer measurements average
// over independent windows.
double NoiseOfSpeed(const Figure& yardstick, Seconds time);
// A machine that is held up is so in bursts; most bursts come again within this time.
inline constexpr Seconds kSpeedWindow{0.5};

// The profile of the machine at that speed: scales every rate that depends on the host's cores or
// its memory. The rates of a GPU, of its link and of disks stay as they are.
HardwareProfile AtSpeed(HardwareProfile profile, const MachineSpeed& speed);

}  // namespace horizon
