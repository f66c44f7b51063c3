#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/process_memory.h"
#include "common/units.h"
#include "runtime/loop/training_run.h"
#include "schedule/schedule.h"
#include "training/measure_speed_after_run.h"
#include "training/plan_training.h"
#include "training/saving.h"

namespace horizon {

// Compares a training run with its prediction: the output of `train`, and run.json. It holds
// references, so the plan, schedule, summary and saving cost must outlive it.
struct TrainingReport {
  const TrainingPlan& planned;
  const Schedule& schedule;
  const RunSummary& summary;
  const SavingCost& saving;
  ProcessMemory memory;
  Bytes device_peak;
  std::string folder;                   // the run folder
  bool exported = true;                 // whether the folder holds the exported model
  std::optional<SpeedDuringRun> speed;  // none: it was not measured

  std::string Text() const;
  std::string Json() const;
};

}  // namespace horizon
