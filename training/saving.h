#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/files/io.h"
#include "common/log.h"
#include "common/units.h"
#include "runtime/checkpoint/checkpoint_layout.h"
#include "runtime/checkpoint/checkpoint_saver.h"
#include "schedule/schedule.h"
#include "training/plan_training.h"
#include "training/training_settings.h"

namespace horizon {

// The checkpoints of a run: what they hold, whether the disk can take them, and what they cost.

// What a checkpoint of this schedule's state holds; of a run that makes none, what one would.
absl::StatusOr<CheckpointLayout> LayOutSaves(const Schedule& schedule, const SaveSettings& save);

// ResourceExhausted (CheckFreeSpace's) when the disk cannot hold the checkpoints of a run in
// `folder`, beside those that are there, or this process may not write files as large (ulimit -f).
// Nothing is made.
absl::Status CheckDisk(Io& io, const std::string& folder, const SaveSettings& save,
                       const CheckpointLayout& layout);

// A line for people: how large a checkpoint is, how long it takes, and what a signal leads to. The
// disk is measured where the profile does not know it; where that fails the line says so. Empty for
// a run without checkpoints.
std::string DescribeSaving(Io& io, Clock& clock, const TrainingSettings& settings,
                           const CheckpointLayout& layout, const TrainingPlan& planned);

// What saving took in all.
struct SavingCost {
  int64_t saves = 0;  // that succeeded
  int64_t failed = 0;
  Bytes bytes;
  double seconds = 0;
  double waited = 0;  // that updates stood still

  // Counts a save; one that was dropped counts as none.
  void Add(const SaveReport& report);
};

// Says how a save went, of a run of so many steps; nothing of one that was dropped, or whose
// failure ends the run or comes at its end: that is the run's error.
void LogSave(Log& log, const SaveReport& report, const SaveSettings& save, int64_t steps);

}  // namespace horizon
