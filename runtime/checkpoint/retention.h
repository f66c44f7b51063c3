#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "runtime/checkpoint/run_lock.h"

namespace horizon {

// Removes old checkpoints in a way that never endangers those that stay. A checkpoint is first
// renamed to a temporary name, then the folder is synced, and only then are its files removed. An
// interrupted removal leaves a temporary folder, never a committed name with missing files.

// The smallest number of checkpoints to keep: when one proves damaged, there is another.
inline constexpr int64_t kLeastKept = 2;

// What PruneCheckpoints did.
struct PruneResult {
  std::vector<std::string> kept;  // paths, highest step first
  std::vector<std::string> removed;
  std::vector<std::string> damaged;  // do not open; they stay and do not count as kept
};

// Keeps the `keep` (>= 2, else InvalidArgument) highest checkpoints that open (Checkpoint::Open;
// their payload is not read), separately for full checkpoints and for those of weights, and removes
// the lower ones of each kind. A damaged checkpoint stays, so that the user can inspect it, unless
// it is lower than all full checkpoints that are kept. Nothing is removed unless the folder can be
// synced first, and nothing after the first error. It also does what RemoveUnfinished does.
absl::StatusOr<PruneResult> PruneCheckpoints(Io& io, const RunLock& lock, int64_t keep);

// Removes one committed checkpoint, damaged or not. NotFound when there is none of that step.
absl::Status RemoveCheckpoint(Io& io, const RunLock& lock, int64_t step);

// Removes the temporary folders that killed processes left. Only the holder of the lock may do
// this, since another process's folder could be in use. Continues after errors and returns the
// first.
absl::Status RemoveUnfinished(Io& io, const RunLock& lock);

}  // namespace horizon
