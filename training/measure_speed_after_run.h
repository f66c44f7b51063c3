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

// How the machine's speed changed during a run.
struct SpeedDuringRun {
  MachineSpeed change;                // speed after the run as a fraction of the speed before it
  double predicted_step_seconds = 0;  // predicted for the mean of both speeds
};

// Measures the machine's speed for about half a second after a run, and predicts the step time for
// the mean of the speeds before and after. The report shows both, since other processes may slow a
// shared machine down during a run.
//
// The measurement overwrites `memory`, host memory of the run, so that it does not raise the run's
// peak memory; call it after the trained model is written. If `memory` is too small to measure
// memory bandwidth in, only the GEMM rate is measured. Returns nullopt if the profile has no speed
// to compare with, or if there is too little memory or no thread to measure with: a measurement
// must not fail a run that has succeeded.
std::optional<SpeedDuringRun> MeasureSpeedAfterRun(Clock& clock, const ModelSpec& spec,
                                                   const Schedule& schedule,
                                                   const TrainingPlan& planned,
                                                   std::span<std::byte> memory);

}  // namespace horizon
