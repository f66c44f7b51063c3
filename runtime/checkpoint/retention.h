#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "runtime/checkpoint/run_lock.h"

namespace horizon {

// Removing checkpoints so that those that are to stay are never at risk. A checkpoint goes by a
// rename to a temporary name, a sync of the folder, and only then the removal of its files: what is
// cut short leaves a temporary folder, never a committed name with files missing.

inline constexpr int64_t kLeastKept = 2;

struct PruneResult {
  std::vector<std::string> kept;  // paths, highest step first
  std::vector<std::string> removed;
  std::vector<std::string> damaged;  // stayed, since they do not open; they count for nothing
};

// Keeps the `keep` (>= 2, else InvalidArgument) highest checkpoints that open (Checkpoint::Open;
// not their payload), for full ones and ones of weights each by itself, and removes what is lower
// than all of its kind that are kept. A damaged one that is higher than those stays for the user to
// look at. Nothing is removed unless the folder can be synced first, and nothing after the first
// error. Also removes what RemoveUnfinished does.
absl::StatusOr<PruneResult> PruneCheckpoints(Io& io, const RunLock& lock, int64_t keep);

// Removes one committed checkpoint, whatever its state. NotFound when there is none of that step.
absl::Status RemoveCheckpoint(Io& io, const RunLock& lock, int64_t step);

// Removes the temporary folders that killed processes left. Only the holder of the lock may:
// another one's could be in use. Goes on after errors and returns the first.
absl::Status RemoveUnfinished(Io& io, const RunLock& lock);

}  // namespace horizon
