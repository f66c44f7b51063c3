#include "training/finish_training.h"

#include <memory>
#include <utility>

#include "common/check.h"
#include "common/json.h"
#include "common/status_macros.h"
#include "common/str_cat.h"
#include "runtime/checkpoint_values.h"
#include "runtime/export_model.h"
#include "runtime/process_memory.h"
#include "training/export_trained.h"
#include "training/speed_after.h"
#include "training/training_report.h"

namespace horizon {
namespace {

std::string StoppedAfter(const RunSummary& summary, const TrainingJob& job) {
  return StrCat("stopped by a signal after step ", summary.steps, " of ", job.steps, "; ");
}

// Of a run that goes on later.
absl::Status Interrupted(const TrainingSettings& settings, const BegunTraining& begun,
                         const RunSummary& summary) {
  // Stopped before its first step, it goes on from where it began.
  const std::string saved = summary.saved.has_value()  ? summary.saved->path
                            : begun.resume.has_value() ? begun.resume->path()
                                                       : "nothing";
  return absl::CancelledError(StrCat(StoppedAfter(summary, settings.job), saved,
                                     " holds its state. Go on with: horizon train --config ",
                                     settings.folder, "/train.yaml --resume auto"));
}

// Of a run without checkpoints.
absl::Status Ended(const TrainingSettings& settings, const RunSummary& summary) {
  if (!summary.interrupted) return absl::OkStatus();
  return absl::CancelledError(StrCat(StoppedAfter(summary, settings.job), "the model so far is in ",
                                     settings.folder, "/model"));
}

absl::StatusOr<TrainingReport> ReportOf(const TrainingContext& context,
                                        const TrainingSettings& settings,
                                        const BegunTraining& begun, const TrainedSteps& trained) {
  const Trainer& trainer = begun.trainer();
  ASSIGN_OR_RETURN(const ProcessMemory memory, ReadProcessMemory(context.io));
  std::optional<SpeedDuring> speed;
  // Whoever stopped the run wants it to end.
  if (!trained.summary.interrupted) {
    ASSIGN_OR_RETURN(speed, MeasureSpeedAfter(context.io, context.clock, trainer.pass().spec(),
                                              trainer.schedule(), begun.plan, memory));
  }
  return TrainingReport{.planned = begun.plan,
                        .schedule = trainer.schedule(),
                        .summary = trained.summary,
                        .saving = trained.saving,
                        .memory = memory,
                        .device_peak = begun.opened.on().high_water(),
                        .folder = settings.folder,
                        .exported = !trained.summary.interrupted || !settings.save.mode.has_value(),
                        .speed = speed};
}

}  // namespace

absl::StatusOr<FinishedTraining> FinishTraining(const TrainingContext& context,
                                                const TrainingSettings& settings,
                                                const LoadedModel& model, BegunTraining& begun,
                                                const TrainedSteps& trained) {
  ASSIGN_OR_RETURN(const TrainingReport report, ReportOf(context, settings, begun, trained));
  const std::string record = settings.folder + "/run.json";
  if (!report.exported) {
    RETURN_IF_ERROR(WriteTextFile(context.io, record, report.Json()));
    return FinishedTraining{.status = Interrupted(settings, begun, trained.summary)};
  }
  StoreValues values(begun.trainer().store(), begun.trainer().schedule());
  RETURN_IF_ERROR(ExportTrained(context, settings, model, values, begun.frozen));
  if (report.memory.peak_resident > begun.plan.prediction.memory.host_bytes()) {
    context.log.Warning("the run took more memory than was predicted; this is a bug of horizon");
  }
  TrainingAnswer answer{.text = report.Text(), .json = report.Json()};
  RETURN_IF_ERROR(WriteTextFile(context.io, record, answer.json));
  return FinishedTraining{.answer = std::move(answer), .status = Ended(settings, trained.summary)};
}

absl::StatusOr<TrainingAnswer> FinishComplete(const TrainingContext& context,
                                              const TrainingSettings& settings,
                                              const LoadedModel& model, PreparedTraining prepared) {
  CHECK(prepared.complete());
  const Checkpoint& last = *prepared.resume;
  const std::string exported = settings.folder + "/model";
  if (!context.io.Info(exported + "/config.json").ok()) {
    RETURN_IF_ERROR(last.VerifyPayload());
    ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointValues> values,
                     CheckpointValues::Open(context.io, last));
    ASSIGN_OR_RETURN(const RunFolder folder,
                     MakeRunFolder(context, settings, model, std::move(prepared.lock)));
    RETURN_IF_ERROR(ExportTrained(context, settings, model, *values, last.manifest().facts.frozen));
  }
  const int64_t step = last.manifest().step;
  JsonWriter json;
  json.BeginObject().Key("steps").Integer(step).Key("complete").Bool(true);
  json.Key("model").String(exported).EndObject();
  return TrainingAnswer{.text = StrCat("the run in ", settings.folder, " is complete: step ", step,
                                       " of ", settings.job.steps, " is saved and ", exported,
                                       " is written; raise --steps to train on\n"),
                        .json = std::move(json).Finish()};
}

}  // namespace horizon
