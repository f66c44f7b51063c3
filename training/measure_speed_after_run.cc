#include "training/measure_speed_after_run.h"

#include "common/units.h"

namespace horizon {
namespace {

constexpr Seconds kMeasuringTime{0.6};  // for the whole measurement

}  // namespace

std::optional<SpeedDuringRun> MeasureSpeedAfterRun(Clock& clock, const ModelSpec& spec,
                                                   const Schedule& schedule,
                                                   const TrainingPlan& planned,
                                                   std::span<std::byte> memory) {
  const HardwareProfile& profile = planned.profile;
  if (!profile.host.yardstick_flops_per_second.has_value()) return std::nullopt;
  const absl::StatusOr<MachineSpeed> change = MeasureSpeed(
      clock, profile, profile.host.cores,
      {.time = kMeasuringTime, .borrowed = memory, .max_extra_bytes = kGemmSpeedBytes});
  if (!change.ok()) return std::nullopt;
  const HardwareProfile half =
      AtSpeed(profile, {.gemm = (1 + change->gemm) / 2, .memory = (1 + change->memory) / 2});
  const PredictedRun predicted =
      PredictRun(spec, schedule, {.profile = half, .software = planned.software});
  return SpeedDuringRun{.change = *change,
                        .predicted_step_seconds = predicted.prediction.step_seconds};
}

}  // namespace horizon
