#include "training/run_folder/run_record.h"

#include <algorithm>
#include <utility>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "report/run_prediction.h"

namespace horizon {
namespace {

absl::Status Remove(Io& io, const std::string& path) {
  const absl::Status removed = io.Unlink(path);
  return absl::IsNotFound(removed) ? absl::OkStatus() : removed;
}

}  // namespace

absl::Status WriteRunRecord(Io& io, const std::string& folder, const ModelSpec& spec,
                            const TrainingPlan& planned) {
  for (const char* name : {"prediction.json", "run.json", "timelines.json"}) {
    RETURN_IF_ERROR(Remove(io, JoinPath(folder, name)));
  }
  StreamPlan named = planned.plan;
  NameModel(spec, named);
  RETURN_IF_ERROR(WriteTextFile(io, JoinPath(folder, "plan.json"), WritePlan(named)));
  RETURN_IF_ERROR(
      WriteTextFile(io, JoinPath(folder, "machine.json"), WriteProfile(planned.profile)));
  if (planned.timelines.operations() <= kMostTimelineOperations) {
    RETURN_IF_ERROR(
        WriteTextFile(io, JoinPath(folder, "timelines.json"), WriteTimelines(planned.timelines)));
  }
  return WriteTextFile(
      io, JoinPath(folder, "prediction.json"),
      WriteRunPrediction(MakeRunPrediction(planned.prediction, planned.profile, planned.software,
                                           planned.arena_bytes)));
}

TimelineRecorder::TimelineRecorder(Io& io, Clock& clock, Log& log, const std::string& folder,
                                   const Schedule& schedule, StepTimelines predicted)
    : io_(io),
      clock_(clock),
      log_(log),
      path_(JoinPath(folder, "timelines.json")),
      schedule_(schedule),
      timelines_(std::move(predicted)) {}

void TimelineRecorder::Record(const MeasuredStep& step) {
  if (timelines_.operations() > kMostTimelineOperations) return;
  const bool newer = step.step > timelines_.step;
  const bool due = step.last || timelines_.step == 0 || clock_.Now() >= next_;
  if (newer && due) Write(step);
}

void TimelineRecorder::Write(const MeasuredStep& step) {
  const Nanoseconds begin = clock_.Now();
  timelines_.step = step.step;
  timelines_.measured = TimesOf(schedule_, step.timeline, 0);
  timelines_.mean_ns = step.durations.Mean();
  const absl::Status written = WriteTextFile(io_, path_, WriteTimelines(timelines_));
  const Nanoseconds end = clock_.Now();
  next_ = end + std::max(kMinInterval, kIntervalPerWriteTime * (end - begin));
  if (written.ok() || warned_) return;
  warned_ = true;
  log_.Warning(
      StrCat("timelines are not kept: ", std::string(written.message()), "; training goes on"));
}

}  // namespace horizon
