#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/units.h"
#include "runtime/loop/process_memory.h"
#include "runtime/loop/training_run.h"
#include "schedule/schedule.h"
#include "training/plan_training.h"
#include "training/saving.h"
#include "training/speed_after.h"

namespace horizon {

// What a run did, beside what was predicted: the answer of `train`, and run.json.
struct TrainingReport {
  const TrainingPlan& planned;
  const Schedule& schedule;
  const RunSummary& summary;
  const SavingCost& saving;
  ProcessMemory memory;
  Bytes device_peak;
  std::string folder;                // of the run
  bool exported = true;              // a model is in it
  std::optional<SpeedDuring> speed;  // none: not looked at

  std::string Text() const;
  std::string Json() const;
};

}  // namespace horizon
