#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/io.h"
#include "model/model_spec.h"
#include "planner/machine_speed.h"
#include "runtime/process_memory.h"
#include "schedule/schedule.h"
#include "training/plan_training.h"

namespace horizon {

// What the machine did while a run went on.
struct SpeedDuring {
  MachineSpeed change;      // after the run, as a share of the speed before it
  double step_seconds = 0;  // predicted at the mean of both
};

// How fast the machine is after a run, and what would have been predicted half-way. None where the
// profile has nothing to compare with, or memory is short: looking must not end a run that fitted.
// `memory` is the process's now.
absl::StatusOr<std::optional<SpeedDuring>> MeasureSpeedAfter(Io& io, Clock& clock,
                                                             const ModelSpec& spec,
                                                             const Schedule& schedule,
                                                             const TrainingPlan& planned,
                                                             const ProcessMemory& memory);

}  // namespace horizon
