#include "training/speed_after.h"

#include "common/status_macros.h"
#include "common/units.h"
#include "planner/host_limits.h"
#include "planner/yardstick.h"

namespace horizon {
namespace {

constexpr Seconds kLookAfter{0.6};

absl::StatusOr<bool> HasMemoryToLook(Io& io, const ProcessMemory& memory) {
  ASSIGN_OR_RETURN(const HostLimits limits, ReadHostLimits(io));
  const Bytes needed = 2 * Yardstick::kMemoryBytes;
  const Bytes held = memory.resident() + needed;
  return limits.available_memory >= needed && limits.memory_limit().value_or(held) >= held;
}

}  // namespace

absl::StatusOr<std::optional<SpeedDuring>> MeasureSpeedAfter(Io& io, Clock& clock,
                                                             const ModelSpec& spec,
                                                             const Schedule& schedule,
                                                             const TrainingPlan& planned,
                                                             const ProcessMemory& memory) {
  const HardwareProfile& profile = planned.profile;
  if (!profile.host.yardstick_flops_per_second.has_value()) return std::nullopt;
  ASSIGN_OR_RETURN(const bool has_memory, HasMemoryToLook(io, memory));
  if (!has_memory) return std::nullopt;
  const absl::StatusOr<MachineSpeed> change =
      MeasureSpeed(clock, profile, profile.host.cores, kLookAfter);
  if (!change.ok()) return std::nullopt;
  const HardwareProfile half = AtSpeed(
      profile, {.products = (1 + change->products) / 2, .memory = (1 + change->memory) / 2});
  const PredictedRun predicted =
      PredictRun(spec, schedule, {.profile = half, .software = planned.software});
  return SpeedDuring{.change = *change, .step_seconds = predicted.prediction.step_seconds};
}

}  // namespace horizon
