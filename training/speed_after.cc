#include "training/speed_after.h"

#include "common/units.h"

namespace horizon {
namespace {

constexpr Seconds kLookAfter{0.6};

}  // namespace

std::optional<SpeedDuring> MeasureSpeedAfter(Clock& clock, const ModelSpec& spec,
                                             const Schedule& schedule, const TrainingPlan& planned,
                                             std::span<std::byte> memory) {
  const HardwareProfile& profile = planned.profile;
  if (!profile.host.yardstick_flops_per_second.has_value()) return std::nullopt;
  const absl::StatusOr<MachineSpeed> change =
      MeasureSpeed(clock, profile, profile.host.cores,
                   {.time = kLookAfter, .borrowed = memory, .may_take = kGemmSpeedBytes});
  if (!change.ok()) return std::nullopt;
  const HardwareProfile half = AtSpeed(
      profile, {.products = (1 + change->products) / 2, .memory = (1 + change->memory) / 2});
  const PredictedRun predicted =
      PredictRun(spec, schedule, {.profile = half, .software = planned.software});
  return SpeedDuring{.change = *change, .step_seconds = predicted.prediction.step_seconds};
}

}  // namespace horizon
