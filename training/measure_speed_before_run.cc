#include "training/measure_speed_before_run.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "model/stages.h"
#include "planner/profile/host/host_limits.h"

namespace horizon {
namespace {

constexpr size_t kMaxMeasurements = 3;
constexpr double kBusyShare = 0.5;  // of the profile's speed; below it the machine counts as busy

// Memory of every run besides its parameters (planner/process_estimate.h). A measurement may use as
// much, since the run starts later.
constexpr uint64_t kLeastRunBytes = uint64_t{32} << 20;

// How much memory a measurement may take: at most half of the free memory, since other processes
// need some and the figure is only that of this moment.
uint64_t MeasuringMemoryBytes(const HostLimits& limits, const ModelSpec& spec) {
  const uint64_t parameters = CountParameters(ListStages(spec)).total;
  // A run holds each parameter at least in bf16.
  return std::min(limits.free_memory().value() / 2, kLeastRunBytes + 2 * parameters);
}

// Whether a measurement differs from the profile by no more than such measurements do from each
// other.
bool IsWithinNoise(const HardwareProfile& profile, const MachineSpeed& speed, Seconds time) {
  const auto within = [&](const std::optional<Figure>& yardstick, double share) {
    return !yardstick || std::abs(std::log(share)) <= 2 * NoiseOfSpeed(*yardstick, time);
  };
  return within(profile.host.yardstick_flops_per_second, speed.gemm) &&
         within(profile.host.yardstick_bytes_per_second, speed.memory);
}

std::string Percent(double share) { return StrCat(std::lround(100 * share), " %"); }

}  // namespace

absl::StatusOr<MachineSpeed> MeasureSpeedBeforeRun(Io& io, Clock& clock, Log& log,
                                                   const ModelSpec& spec,
                                                   const HardwareProfile& profile) {
  if (!profile.host.yardstick_flops_per_second.has_value()) return MachineSpeed{};
  ASSIGN_OR_RETURN(const HostLimits limits, ReadHostLimits(io));
  const SpeedMeasurement measurement{.max_extra_bytes = MeasuringMemoryBytes(limits, spec)};
  if (measurement.max_extra_bytes < kGemmSpeedBytes) {
    log.Info(StrCat("too little memory is free (", ToString(limits.free_memory()),
                    ") to look at this machine's speed: the plan is made from the profile"));
    return MachineSpeed{};
  }
  std::vector<MachineSpeed> measured;
  MachineSpeed fastest{.gemm = 0, .memory = 0};
  while (measured.size() < kMaxMeasurements) {
    ASSIGN_OR_RETURN(const MachineSpeed now,
                     MeasureSpeed(clock, profile, profile.host.cores, measurement));
    measured.push_back(now);
    fastest.gemm = std::max(fastest.gemm, now.gemm);
    fastest.memory = std::max(fastest.memory, now.memory);
    const bool as_profiled = measured.size() == 1 && IsWithinNoise(profile, now, measurement.time);
    if (!as_profiled && measured.size() < kMaxMeasurements) continue;
    if (std::min(fastest.gemm, fastest.memory) < kBusyShare) break;
    const MachineSpeed expected = ExpectSpeed(profile, measured, measurement.time);
    log.Info(StrCat("this machine is expected to compute at ", Percent(expected.gemm),
                    " of the profile's speed, its memory at ", Percent(expected.memory)));
    return expected;
  }
  log.Warning(StrCat(
      "this machine is busy: in ", kMaxMeasurements, " looks it computed at ",
      Percent(fastest.gemm), " of the profile's speed and its memory was at ",
      Percent(fastest.memory),
      ", so the plan is made from the profile. Steps take longer than predicted while others use "
      "the machine; if it has become slower for good, `horizon profile` measures it again"));
  return MachineSpeed{};
}

}  // namespace horizon
