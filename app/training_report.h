#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/training_plan.h"
#include "planner/machine_speed.h"
#include "runtime/process_memory.h"
#include "runtime/training_run.h"
#include "schedule/schedule.h"

namespace horizon {

// What saving took in all.
struct SavingCost {
  int64_t saves = 0;  // that succeeded
  int64_t failed = 0;
  uint64_t bytes = 0;
  double seconds = 0;
  double waited = 0;  // that updates stood still
};

// What the machine did meanwhile.
struct SpeedDuring {
  MachineSpeed change;      // after the run, as a share of the speed before it
  double step_seconds = 0;  // predicted at the mean of both
};

// What a run did, beside what was predicted: the answer of `train`, and run.json.
struct TrainingReport {
  const TrainingPlan& planned;
  const Schedule& schedule;
  const RunSummary& summary;
  const SavingCost& saving;
  ProcessMemory memory;
  uint64_t device_peak = 0;
  std::string folder;                // of the run
  bool exported = true;              // a model is in it
  std::optional<SpeedDuring> speed;  // none: not looked at

  std::string Text() const;
  std::string Json() const;
};

}  // namespace horizon
