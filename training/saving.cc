#include "training/saving.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/units.h"
#include "planner/plan_report.h"
#include "planner/profile/probe_disk.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "training/duration_text.h"
#include "training/run_folder/run_folder.h"

namespace horizon {
namespace {

// The largest file that this process may write (RLIMIT_FSIZE); none: no limit, or it is not known.
std::optional<uint64_t> FileSizeLimit(Io& io) {
  constexpr std::string_view kName = "\nMax file size ";
  const absl::StatusOr<std::string> limits = ReadTextFile(io, "/proc/self/limits");
  if (!limits.ok()) return std::nullopt;
  const size_t line = limits->find(kName);
  if (line == std::string::npos) return std::nullopt;
  const size_t begin = limits->find_first_not_of(' ', line + kName.size());
  uint64_t limit = 0;
  // "unlimited" is no number.
  const bool has =
      begin != std::string::npos &&
      std::from_chars(limits->data() + begin, limits->data() + limits->size(), limit).ec ==
          std::errc();
  return has ? std::optional(limit) : std::nullopt;
}

absl::Status CheckFileSizes(Io& io, const CheckpointLayout& layout) {
  const std::optional<uint64_t> limit = FileSizeLimit(io);
  if (!limit.has_value()) return absl::OkStatus();
  for (const CheckpointFile& file : layout.files) {
    if (file.bytes <= Bytes(*limit)) continue;
    return absl::ResourceExhaustedError(
        StrCat("a checkpoint of this run has a file of ", ToString(file.bytes), " (", file.name,
               "), and this process may write files of at most ", ToString(Bytes(*limit)),
               "; raise the limit on file sizes (ulimit -f) or choose --save none"));
  }
  return absl::OkStatus();
}

// Of a save that failed: when the next attempt is made.
std::string WhatFollows(const SaveReport& report, const SaveSettings& save, int64_t steps) {
  const int64_t next = save.every > 0 ? std::min(steps, report.step + save.every) : steps;
  return StrCat(". Training goes on, and the next save is at step ", next);
}

}  // namespace

absl::StatusOr<CheckpointLayout> LayOutSaves(const Schedule& schedule, const SaveSettings& save) {
  return LayOutCheckpoint(SavedTensorsOf(schedule), schedule.job.state_format,
                          save.mode.value_or(SaveMode::kFull));
}

absl::Status CheckDisk(Io& io, const std::string& folder, const SaveSettings& save,
                       const CheckpointLayout& layout) {
  if (!save.mode.has_value()) return absl::OkStatus();
  RETURN_IF_ERROR(CheckFileSizes(io, layout));
  int64_t copies = save.keep + 1;  // those that stay, and the one being written
  if (!io.Info(folder).ok()) return CheckFreeSpace(io, ParentFolder(folder), layout, copies);
  ASSIGN_OR_RETURN(const std::vector<FoundCheckpoint> there, FindCheckpoints(io, folder));
  copies = std::max<int64_t>(1, copies - static_cast<int64_t>(there.size()));
  return CheckFreeSpace(io, folder, layout, copies);
}

std::string DescribeSaving(Io& io, Clock& clock, const TrainingSettings& settings,
                           const CheckpointLayout& layout, const TrainingPlan& planned) {
  const SaveSettings& save = settings.save;
  if (!save.mode.has_value()) return std::string();
  const std::string when =
      save.every > 0 ? StrCat(", every ", save.every, " steps") : std::string(", at the end");
  constexpr std::string_view kSignals = "; a signal (Ctrl-C, SIGTERM, SIGHUP, SIGUSR1)";
  absl::StatusOr<DiskProfile> disk = absl::NotFoundError("");
  if (const DiskProfile* known = FindDisk(planned.profile, settings.folder)) {
    disk = *known;
  } else {
    disk = ProbeDisk(io, clock, settings.folder);
  }
  // How long it takes is good to know and no reason not to begin.
  if (!disk.ok()) {
    return StrCat(
        "a checkpoint takes ", ToString(layout.total_bytes), when, kSignals,
        " is followed by a save, how soon is not known: ", std::string(disk.status().message()));
  }
  const double seconds =
      static_cast<double>(layout.total_bytes.value()) / disk->write_bytes_per_second.value;
  return StrCat("a checkpoint takes ", ToString(layout.total_bytes), " and about ",
                DurationText(seconds), when, kSignals, " is followed by a save within about ",
                DurationText(seconds + 2 * planned.prediction.step_seconds));
}

void SavingCost::Add(const SaveReport& report) {
  if (absl::IsCancelled(report.status)) return;
  if (report.path.empty()) {
    ++failed;
    return;
  }
  ++saves;
  bytes += report.bytes;
  seconds += report.seconds;
  waited += report.waited;
}

void LogSave(Log& log, const SaveReport& report, const SaveSettings& save, int64_t steps) {
  if (absl::IsCancelled(report.status)) return;
  if (report.path.empty()) {
    // Then it is the run's own error.
    if (report.at_end || save.must_succeed) return;
    log.Warning(StrCat("step ", report.step, " was not saved: ",
                       std::string(report.status.message()), WhatFollows(report, save, steps)));
    return;
  }
  log.Info(StrCat("saved step ", report.step, " in ", report.path, ": ", ToString(report.bytes),
                  " in ", ShortNumber(report.seconds), " s, updates waited ",
                  ShortNumber(report.waited), " s"));
  if (!report.status.ok()) {
    log.Warning(StrCat("older checkpoints stay: ", std::string(report.status.message())));
  }
}

}  // namespace horizon
