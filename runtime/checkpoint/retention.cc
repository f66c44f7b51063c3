#include "runtime/checkpoint/retention.h"

#include <map>
#include <optional>
#include <utility>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "runtime/checkpoint/checkpoint_names.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/remove_folder.h"

namespace horizon {
namespace {

constexpr int kTemporaryNames = 1000;

// Renames a committed checkpoint to a temporary name, which is returned.
absl::StatusOr<std::string> RenameToTemporary(Io& io, const RunLock& lock, int64_t step,
                                              const std::string& path) {
  absl::Status renamed;
  for (int number = 1; number <= kTemporaryNames; ++number) {
    std::string temporary = JoinPath(lock.checkpoints_folder(), TemporaryName(step, number));
    renamed = io.RenameNoReplace(path, temporary);
    if (renamed.ok()) return temporary;
    if (!absl::IsAlreadyExists(renamed)) break;
  }
  return renamed;
}

absl::Status RemoveAll(Io& io, const RunLock& lock, const std::vector<FoundCheckpoint>& removed) {
  if (removed.empty()) return absl::OkStatus();
  std::vector<std::string> temporary;
  for (const FoundCheckpoint& checkpoint : removed) {
    ASSIGN_OR_RETURN(temporary.emplace_back(),
                     RenameToTemporary(io, lock, checkpoint.step, checkpoint.path));
  }
  RETURN_IF_ERROR(io.SyncDirectory(lock.checkpoints_folder()));
  for (const std::string& folder : temporary) RETURN_IF_ERROR(RemoveFolder(io, folder));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PruneResult> PruneCheckpoints(Io& io, const RunLock& lock, int64_t keep) {
  if (keep < kLeastKept) {
    return absl::InvalidArgumentError(
        StrCat("at least ", kLeastKept, " checkpoints are kept, so that one is whole if the other ",
               "proves damaged; found ", keep));
  }
  ASSIGN_OR_RETURN(const std::vector<FoundCheckpoint> found,
                   FindCheckpoints(io, lock.run_folder()));
  PruneResult result;
  std::map<SaveMode, int64_t> kept;
  std::vector<FoundCheckpoint> removed;
  for (const FoundCheckpoint& checkpoint : found) {
    const absl::StatusOr<Checkpoint> open = Checkpoint::Open(io, checkpoint.path);
    if (!open.ok() && !absl::IsDataLoss(open.status()) && !absl::IsInvalidArgument(open.status())) {
      return open.status();  // says nothing about the checkpoint
    }
    if (!open.ok()) {
      const bool enough = kept[SaveMode::kFull] >= keep;
      if (!enough) result.damaged.push_back(checkpoint.path);
      if (enough) removed.push_back(checkpoint);
    } else if (++kept[open->manifest().mode] <= keep) {
      result.kept.push_back(checkpoint.path);
    } else {
      removed.push_back(checkpoint);
    }
  }
  // A name that is kept but might not survive a power cut must not be what a removal relies on.
  if (!removed.empty()) RETURN_IF_ERROR(io.SyncDirectory(lock.checkpoints_folder()));
  RETURN_IF_ERROR(RemoveAll(io, lock, removed));
  for (const FoundCheckpoint& checkpoint : removed) result.removed.push_back(checkpoint.path);
  RETURN_IF_ERROR(RemoveUnfinished(io, lock));
  return result;
}

absl::Status RemoveCheckpoint(Io& io, const RunLock& lock, int64_t step) {
  const std::string path = JoinPath(lock.checkpoints_folder(), StepName(step));
  RETURN_IF_ERROR(io.Info(path).status());
  return RemoveAll(io, lock, {{.step = step, .path = path}});
}

absl::Status RemoveUnfinished(Io& io, const RunLock& lock) {
  const absl::StatusOr<std::vector<std::string>> names = io.List(lock.checkpoints_folder());
  if (absl::IsNotFound(names.status())) return absl::OkStatus();
  RETURN_IF_ERROR(names.status());
  absl::Status first;
  bool is_synced = false;
  for (const std::string& name : *names) {
    if (!IsTemporaryName(name)) continue;
    // It may have been a committed name until a moment before the process died.
    if (!is_synced) RETURN_IF_ERROR(io.SyncDirectory(lock.checkpoints_folder()));
    is_synced = true;
    const absl::Status removed = RemoveFolder(io, JoinPath(lock.checkpoints_folder(), name));
    if (first.ok()) first = removed;
  }
  return first;
}

}  // namespace horizon
