#include "runtime/checkpoint/run_lock.h"

#include <vector>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "runtime/checkpoint/checkpoint_names.h"

namespace horizon {
namespace {

// A run folder may come from a stranger: a link in it would lead what the run writes (metrics, say)
// out of it, and could make two run folders share their checkpoints under two locks.
absl::Status CheckNoLinks(Io& io, const std::string& run_folder) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, io.List(run_folder));
  for (const std::string& name : names) {
    const std::string path = JoinPath(run_folder, name);
    const absl::StatusOr<FileInfo> info = io.Info(path);
    // A link that leads nowhere is not found, and a writer would make what it names.
    if (absl::IsNotFound(info.status()) || (info.ok() && info->is_symlink)) {
      return absl::DataLossError(
          StrCat("'", path, "' is a symbolic link; a run folder holds no links"));
    }
    RETURN_IF_ERROR(info.status());
    if (name == kCheckpointsFolder && info->kind != FileKind::kDirectory) {
      return absl::DataLossError(StrCat("'", path, "' is not a folder"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

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
  RETURN_IF_ERROR(CheckNoLinks(io, run_folder));
  return result;
}

}  // namespace horizon
