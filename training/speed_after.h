#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "common/clock.h"
#include "model/model_spec.h"
#include "planner/profile/machine_speed.h"
#include "schedule/schedule.h"
#include "training/plan_training.h"

namespace horizon {

// What the machine did while a run went on.
struct SpeedDuring {
  MachineSpeed change;      // after the run, as a share of the speed before it
  double step_seconds = 0;  // predicted at the mean of both
};

// How fast the machine is after a run, and what would have been predicted half-way. The look uses
// the memory of the run, `memory`, which is destroyed: to be called when the trained model is
// written. So the run's peak is not raised; where the run has less than memory's speed takes, only
// the products are looked at. None where the profile has nothing to compare with or the system
// gives too little to look with: looking must not end a run that fitted.
std::optional<SpeedDuring> MeasureSpeedAfter(Clock& clock, const ModelSpec& spec,
                                             const Schedule& schedule, const TrainingPlan& planned,
                                             std::span<std::byte> memory);

}  // namespace horizon
