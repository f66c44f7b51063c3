#include "training/saving.h"

#include <algorithm>
#include <vector>

#include "common/status_macros.h"
#include "common/str_cat.h"
#include "common/units.h"
#include "planner/plan_report.h"
#include "planner/probe_disk.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "training/duration_text.h"
#include "training/run_folder.h"

namespace horizon {

absl::StatusOr<CheckpointLayout> LayOutSaves(const Schedule& schedule, const SaveSettings& save) {
  return LayOutCheckpoint(SavedTensorsOf(schedule), schedule.job.state_format,
                          save.mode.value_or(SaveMode::kFull));
}

absl::Status CheckDisk(Io& io, const std::string& folder, const SaveSettings& save,
                       const CheckpointLayout& layout) {
  if (!save.mode.has_value()) return absl::OkStatus();
  int64_t copies = save.keep + 1;  // those that stay, and the one being written
  if (!io.Info(folder).ok()) return CheckFreeSpace(io, ParentFolder(folder), layout, copies);
  ASSIGN_OR_RETURN(const std::vector<FoundCheckpoint> there, FindCheckpoints(io, folder));
  copies = std::max<int64_t>(1, copies - static_cast<int64_t>(there.size()));
  return CheckFreeSpace(io, folder, layout, copies);
}

absl::StatusOr<std::string> DescribeSaving(Io& io, Clock& clock, const TrainingSettings& settings,
                                           const CheckpointLayout& layout,
                                           const TrainingPlan& planned) {
  const SaveSettings& save = settings.save;
  if (!save.mode.has_value()) return std::string();
  DiskProfile disk;
  if (const DiskProfile* known = FindDisk(planned.profile, settings.folder)) {
    disk = *known;
  } else {
    ASSIGN_OR_RETURN(disk, ProbeDisk(io, clock, settings.folder));
  }
  const double seconds =
      static_cast<double>(layout.total_bytes.value()) / disk.write_bytes_per_second.value;
  return StrCat("a checkpoint takes ", ToString(layout.total_bytes), " and about ",
                DurationText(seconds),
                save.every > 0 ? StrCat(", every ", save.every, " steps") : ", at the end",
                "; a signal (Ctrl-C, SIGTERM, SIGUSR1) is followed by a save within about ",
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

void LogSave(Log& log, const SaveReport& report, const SaveSettings& save) {
  if (absl::IsCancelled(report.status)) return;
  if (report.path.empty()) {
    log.Error(StrCat("step ", report.step, " was not saved: ", std::string(report.status.message()),
                     save.must_succeed ? "" : "; training goes on"));
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
