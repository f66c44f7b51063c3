#include "runtime/checkpoint/run_lock.h"

#include "common/status_macros.h"
#include "common/str_cat.h"
#include "runtime/checkpoint/checkpoint_names.h"

namespace horizon {

absl::StatusOr<RunLock> RunLock::Acquire(Io& io, const std::string& run_folder) {
  RunLock result;
  result.run_folder_ = run_folder;
  result.checkpoints_folder_ = JoinPath(run_folder, kCheckpointsFolder);
  absl::StatusOr<std::unique_ptr<FileLock>> lock = io.Lock(JoinPath(run_folder, "lock"));
  if (!lock.ok()) {
    return WithMessage(lock.status(), StrCat("cannot use the run folder '", run_folder,
                                             "': ", lock.status().message()));
  }
  result.lock_ = *std::move(lock);
  // A link could make two run folders share their checkpoints under two locks.
  const absl::StatusOr<FileInfo> info = io.Info(result.checkpoints_folder_);
  if (!info.ok()) {
    if (absl::IsNotFound(info.status())) return result;
    return info.status();
  }
  if (info->is_symlink || info->kind != FileKind::kDirectory) {
    return absl::DataLossError(StrCat("'", result.checkpoints_folder_,
                                      "' is not a folder itself; a run folder holds no links"));
  }
  return result;
}

}  // namespace horizon
