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

// The checkpoints of a run: their contents, whether the disk can hold them, and their cost.

// The files and tensors of a checkpoint of this schedule. For a run without checkpoints, those that
// a full checkpoint would have.
absl::StatusOr<CheckpointLayout> LayOutSaves(const Schedule& schedule, const SaveSettings& save);

// Checks that the disk can hold the checkpoints of a run in `folder`, in addition to those that
// exist there. ResourceExhausted (see CheckFreeSpace) if it cannot, or if this process may not
// write files that large (ulimit -f). It creates nothing.
absl::Status CheckDisk(Io& io, const std::string& folder, const SaveSettings& save,
                       const CheckpointLayout& layout);

// A line for the log: how large a checkpoint is, how long saving takes, and how soon a signal is
// followed by a save. If the profile does not know the disk, this measures it; if that fails, the
// line says so. Empty for a run without checkpoints.
std::string DescribeSaving(Io& io, Clock& clock, const TrainingSettings& settings,
                           const CheckpointLayout& layout, const TrainingPlan& planned);

// The total cost of the checkpoints of a run.
struct SavingCost {
  int64_t saves = 0;   // saves that succeeded
  int64_t failed = 0;  // saves that failed
  Bytes bytes;
  double seconds = 0;
  double waited = 0;  // seconds that optimizer updates waited for saves

  // Adds the cost of a save. A save that was dropped (Cancelled) does not count.
  void Add(const SaveReport& report);
};

// Logs the result of a save, for a run of `steps` steps. It logs nothing about a save that was
// dropped, nor about a failure that ends the run or happens at its end: the run reports that error.
void LogSave(Log& log, const SaveReport& report, const SaveSettings& save, int64_t steps);

}  // namespace horizon
