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

// What a run leaves in its folder so that it can be shown, followed and learnt from (run_folder.h
// has the list): what was predicted before the first step, and timelines while it goes on.

// Writes plan.json, machine.json and timelines.json (its predicted half) and, last,
// prediction.json. Of a run that goes on, those and run.json are removed first: what stands there
// is of one run.
absl::Status WriteRunRecord(Io& io, const std::string& folder, const ModelSpec& spec,
                            const TrainingPlan& planned);

// Keeps timelines.json up to date: at the first measured step, then at most every kEvery and so
// seldom that writing takes no more than kShare of the time, and at the end. A file that cannot be
// written is told in the log, once, and never ends a run. One thread.
class TimelineRecorder {
 public:
  static constexpr Nanoseconds kEvery = std::chrono::seconds(5);
  static constexpr int64_t kShare = 100;  // one part in so many

  // `schedule` and the others outlive the recorder.
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
  Nanoseconds next_{0};  // not before this time
  bool told_ = false;
};

}  // namespace horizon
