#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/files/io.h"

namespace horizon {

// A lock on a run folder. One process at a time may change a run folder; everything that writes or
// removes checkpoints takes a RunLock as proof. Reading needs none. The lock is released when this
// object is destroyed or the process dies, in whatever way. Movable; keep it as long as the run.
class RunLock {
 public:
  // Locks RUN/lock; the folder must exist. FailedPrecondition, naming the process, when another
  // process holds the lock; DataLoss when anything in RUN is a symbolic link or RUN/checkpoints is
  // not a folder.
  static absl::StatusOr<RunLock> Acquire(Io& io, const std::string& run_folder);

  const std::string& run_folder() const { return run_folder_; }
  const std::string& checkpoints_folder() const { return checkpoints_folder_; }

 private:
  RunLock() = default;
  std::string run_folder_;
  std::string checkpoints_folder_;
  std::unique_ptr<FileLock> lock_;
};

}  // namespace horizon
