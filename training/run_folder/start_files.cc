#include "training/run_folder/start_files.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "runtime/checkpoint/checkpoint_names.h"
#include "runtime/checkpoint/remove_folder.h"
#include "runtime/loop/tensorboard_sink.h"
#include "schedule/load_files.h"

namespace horizon {
namespace {

constexpr std::string_view kLock = "lock";
constexpr std::string_view kBase = "base";
constexpr std::string_view kJob = "job.json";
constexpr std::string_view kStartFiles[] = {
    kJob,         "train.yaml", "plan.json", "machine.json", "prediction.json", "timelines.json",
    ".disk-probe"};  // of planner/profile/probe_disk.cc, which a kill leaves
// Empty before the first step.
constexpr std::string_view kLineFiles[] = {"metrics.jsonl", "eval.jsonl", "routing.jsonl"};

// A start file, or one that was being written when the process was killed.
bool IsStartFile(std::string_view name) {
  // Begun just before the first line of metrics.jsonl, without which it is worthless.
  if (name.starts_with(kEventFilePrefix)) return true;
  return std::any_of(std::begin(kStartFiles), std::end(kStartFiles), [&](std::string_view file) {
    return name == file || name.starts_with(StrCat(file, ".tmp-"));
  });
}

bool IsLineFile(std::string_view name) {
  return std::find(std::begin(kLineFiles), std::end(kLineFiles), name) != std::end(kLineFiles);
}

absl::StatusOr<std::vector<std::string>> NamesIn(Io& io, const std::string& folder) {
  absl::StatusOr<std::vector<std::string>> names = io.List(folder);
  if (absl::IsNotFound(names.status())) return std::vector<std::string>();
  return names;
}

absl::StatusOr<bool> IsNothing(Io& io, const std::string& folder, const std::string& name) {
  const std::string path = JoinPath(folder, name);
  ASSIGN_OR_RETURN(const FileInfo info, io.Info(path));
  if (info.is_symlink) return false;
  const bool is_folder = info.kind == FileKind::kDirectory;
  if (name == kBase) return is_folder;
  if (IsLineFile(name)) return info.kind == FileKind::kRegular && info.size.value() == 0;
  if (name == kCheckpointsFolder && is_folder) {
    ASSIGN_OR_RETURN(const std::vector<std::string> saved, io.List(path));
    return saved.empty();
  }
  return info.kind == FileKind::kRegular && IsStartFile(name);
}

absl::Status Remove(Io& io, const std::string& folder, const std::string& name) {
  const std::string path = JoinPath(folder, name);
  if (name == kBase) return RemoveFolder(io, path);
  if (name == kCheckpointsFolder) return io.RemoveDirectory(path);
  return io.Unlink(path);
}

}  // namespace

absl::StatusOr<bool> HoldsNoRun(Io& io, const std::string& folder) {
  ASSIGN_OR_RETURN(std::vector<std::string> names, NamesIn(io, folder));
  // A start that was killed while it wrote the job has nothing else.
  std::erase_if(names, [](const std::string& name) {
    return name == kLock || name.starts_with(StrCat(kJob, ".tmp-"));
  });
  if (names.empty()) return true;
  // Whoever has a folder called "base" may have made it himself; the job beside it is ours.
  if (!LoadJob(io, JoinPath(folder, kJob)).ok()) return false;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const bool nothing, IsNothing(io, folder, name));
    if (!nothing) return false;
  }
  return true;
}

absl::Status RemoveStartFiles(Io& io, const std::string& folder) {
  ASSIGN_OR_RETURN(std::vector<std::string> names, NamesIn(io, folder));
  // The job goes last: as long as it is there, the rest is known for what it is.
  std::stable_partition(names.begin(), names.end(), [](const auto& name) { return name != kJob; });
  for (const std::string& name : names) {
    if (name == kLock) continue;
    ASSIGN_OR_RETURN(const bool nothing, IsNothing(io, folder, name));
    if (nothing) RETURN_IF_ERROR(Remove(io, folder, name));
  }
  return absl::OkStatus();
}

StartGuard::StartGuard(Io& io, std::string folder, Folder was)
    : io_(io), folder_(std::move(folder)), was_(was) {}

StartGuard::~StartGuard() {
  if (keep_) return;
  // What cannot be removed is found by the next start, which knows it by HoldsNoRun.
  if (!RemoveStartFiles(io_, folder_).ok()) return;
  io_.Unlink(JoinPath(folder_, kLock)).IgnoreError();
  if (was_ == Folder::kMade) io_.RemoveDirectory(folder_).IgnoreError();
}

}  // namespace horizon
