#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/files/io.h"

namespace horizon {

// The right to change a run folder, which one process has at a time. Whatever writes or removes
// checkpoints takes a RunLock as its proof; reading needs none. Gone when this object is destroyed
// or the process dies, however it dies. Moves; keep it as long as the run.
class RunLock {
 public:
  // Locks RUN/lock; the folder must exist. FailedPrecondition, naming the process, when another one
  // has the folder; DataLoss when anything in RUN is a symbolic link or RUN/checkpoints no folder.
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
