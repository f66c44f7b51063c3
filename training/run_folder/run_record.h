#pragma once

#include <string>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/files/io.h"
#include "common/log.h"
#include "report/step_timelines.h"
#include "runtime/loop/training_run.h"
#include "schedule/schedule.h"
#include "training/plan_training.h"

namespace horizon {

// The files from which a run can be displayed, followed while it runs, and used to refit the
// machine's profile (run_folder.h has the list): the prediction, written before the first step, and
// the timelines, written while the run goes on.

// Writes plan.json, machine.json, timelines.json (its predicted half, unless it has too many
// operations) and, last, prediction.json. It first removes the old prediction.json, run.json and
// timelines.json of a run that is resumed, so that all files belong to one run.
absl::Status WriteRunRecord(Io& io, const std::string& folder, const ModelSpec& spec,
                            const TrainingPlan& planned);

// Keeps timelines.json up to date. It writes the file at the first measured step, then at intervals
// of at least kMinInterval and of kIntervalPerWriteTime times what the last write took (so that
// writing takes at most about one percent of the time), and at the end. If the file cannot be
// written, the log says so once; that never ends a run. One thread uses it.
class TimelineRecorder {
 public:
  static constexpr Nanoseconds kMinInterval = std::chrono::seconds(5);
  static constexpr int64_t kIntervalPerWriteTime = 100;

  // The arguments passed by reference must outlive the recorder, except for `folder`.
  TimelineRecorder(Io& io, Clock& clock, Log& log, const std::string& folder,
                   const Schedule& schedule, StepTimelines predicted);
  void Record(const MeasuredStep& step);

 private:
  void Write(const MeasuredStep& step);

  Io& io_;
  Clock& clock_;
  Log& log_;
  const std::string path_;
  const Schedule& schedule_;
  StepTimelines timelines_;
  Nanoseconds next_{0};  // the earliest time of the next write
  bool warned_ = false;
};

}  // namespace horizon
