#include "training/finish_training.h"

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/documents/document.h"
#include "common/documents/json.h"
#include "common/files/io.h"
#include "common/process_memory.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/checkpoint_values.h"
#include "runtime/export/export_model.h"
#include "schedule/timeline/trace_writer.h"
#include "training/measure_speed_after_run.h"
#include "training/run_folder/check_folder.h"
#include "training/run_folder/export_trained.h"
#include "training/run_folder/rescue_trained.h"
#include "training/run_folder/run_folder.h"
#include "training/training_report.h"

namespace horizon {
namespace {

std::string StoppedAfter(const RunSummary& summary, const TrainingJob& job) {
  return StrCat("stopped by a signal after step ", summary.steps, " of ", job.steps, "; ");
}

std::string GoOn(const TrainingSettings& settings) {
  return StrCat("Go on with: horizon train --config ", settings.folder,
                "/train.yaml --resume auto");
}

// Of a run that goes on later.
absl::Status Interrupted(const TrainingSettings& settings, const BegunTraining& begun,
                         const RunSummary& summary) {
  // Stopped before its first step, it goes on from where it began.
  const std::string saved = summary.saved.has_value()  ? summary.saved->path
                            : begun.resume.has_value() ? begun.resume->path()
                                                       : "nothing";
  return absl::CancelledError(
      StrCat(StoppedAfter(summary, begun.job()), saved, " holds its state. ", GoOn(settings)));
}

// Of a run without checkpoints.
absl::Status Ended(const TrainingSettings& settings, const BegunTraining& begun,
                   const RunSummary& summary) {
  if (!summary.interrupted) return absl::OkStatus();
  return absl::CancelledError(StrCat(StoppedAfter(summary, begun.job()), "the model so far is in ",
                                     settings.folder, "/model"));
}

// What can be gone on from, of a run whose last state was not saved.
std::string NewestCheckpoint(Io& io, const TrainingSettings& settings) {
  const absl::StatusOr<std::vector<FoundCheckpoint>> found = FindCheckpoints(io, settings.folder);
  if (!found.ok() || found->empty()) return "There is no older checkpoint to go on from";
  return StrCat("The newest checkpoint is ", found->front().path, ". ", GoOn(settings));
}

// This late a disk that is too small is an I/O error also when that is found before anything is
// written, and a missing file was not misnamed by the user.
absl::Status AsIoError(const absl::Status& status, std::string_view message) {
  const bool is_room = absl::IsResourceExhausted(status) && IoErrno(status) == 0;
  if (is_room) return WithMessage(IoError(ENOSPC, ""), message);
  return WithMessage(absl::IsNotFound(status) ? IoError(ESTALE, "") : status, message);
}

// The error of a run that could not save or export what it ended with, and what is kept of it.
absl::Status NotKept(Io& io, const TrainingSettings& settings, const BegunTraining& begun,
                     const RunSummary& summary, const absl::Status& exported) {
  const std::string model = settings.folder + "/model";
  const std::string save_reason(summary.end_not_saved.message());
  const std::string export_reason(exported.message());
  if (summary.interrupted && !summary.end_not_saved.ok()) {
    return AsIoError(summary.end_not_saved, StrCat(StoppedAfter(summary, begun.job()),
                                                   "its state was not saved: ", save_reason, ". ",
                                                   NewestCheckpoint(io, settings)));
  }
  if (exported.ok()) {
    return AsIoError(
        summary.end_not_saved,
        StrCat("the state after the last step, ", summary.steps, ", was not saved: ", save_reason,
               ". The trained model is in ", model, ". ", NewestCheckpoint(io, settings)));
  }
  if (summary.end_not_saved.ok() && summary.saved.has_value()) {
    return AsIoError(
        exported, StrCat("the trained model was not exported to ", model, ": ", export_reason, ". ",
                         summary.saved->path, " holds the trained state: horizon export ",
                         settings.folder, " --output FOLDER makes a model of it"));
  }
  return AsIoError(
      exported, StrCat("the trained model was not exported to ", model, ": ", export_reason,
                       summary.end_not_saved.ok() ? "" : "; nor was the state saved: ", save_reason,
                       ". ", NewestCheckpoint(io, settings)));
}

// Whoever stopped the run wants it to end: then nothing is measured any more. Measuring uses the
// memory of the parameters, which are exported or lost by now.
TrainingReport ReportOf(const TrainingContext& context, const TrainingSettings& settings,
                        const BegunTraining& begun, const TrainedSteps& trained, bool exported) {
  const Trainer& trainer = begun.trainer();
  std::optional<SpeedDuringRun> speed;
  if (!trained.summary.interrupted) {
    speed = MeasureSpeedAfterRun(context.clock, trainer.pass().spec(), trainer.schedule(),
                                 begun.plan, trainer.pass().memory().largest_host_piece());
  }
  // Last of all, so that the kernel's peak is that of the whole run.
  const absl::StatusOr<ProcessMemory> read = ReadProcessMemory(context.io);
  if (!read.ok()) context.log.Warning(StrCat(read.status().message()));
  const ProcessMemory memory = read.value_or(ProcessMemory{});
  return TrainingReport{.planned = begun.plan,
                        .schedule = trainer.schedule(),
                        .summary = trained.summary,
                        .saving = trained.saving,
                        .memory = memory,
                        .device_peak = begun.opened.device().high_water(),
                        .folder = settings.folder,
                        .exported = exported,
                        .speed = speed};
}

// What a person gives to extend a run that is complete.
std::string HowToTrainOn(const TrainingJob& job) {
  const bool constant = job.learning_rate_schedule == LearningRateSchedule::kConstant;
  return StrCat("raise ", job.epochs > 0 ? "--epochs" : "--steps",
                constant ? "" : " and give --restart-schedule", " to train on");
}

// timeline.json and run.json, which nothing depends on: what cannot be written is said.
void WriteRecords(const TrainingContext& context, const TrainingSettings& settings,
                  const TrainingReport& report) {
  const auto warn = [&](const absl::Status& status) {
    if (!status.ok()) context.log.Warning(StrCat(status.message()));
  };
  warn(WriteTextFile(context.io, settings.folder + "/run.json", report.Json()));
  warn(
      WriteTrace(report.schedule, report.summary.last_step,
                 StrCat("measured: step ", report.summary.steps, " of ", report.schedule.job.model),
                 context.io, settings.folder + "/timeline.json"));
}

// Whether RUN/model was exported after this step. A run that goes on removes run.json and writes it
// after the export, so a model beside no run.json, or one of fewer steps, may be that of the run
// before it was extended.
bool HasModelOf(Io& io, const std::string& folder, int64_t step) {
  if (!io.Info(folder + "/model/config.json").ok()) return false;
  const absl::StatusOr<std::string> text = ReadTextFile(io, folder + "/run.json");
  if (!text.ok()) return false;
  const absl::StatusOr<Document> record = ParseJson("run.json", *text);
  if (!record.ok()) return false;
  const Value* steps = record->root.Find("steps");
  const Value* model = record->root.Find("model");
  return steps != nullptr && steps->As<int64_t>() != nullptr && *steps->As<int64_t>() == step &&
         model != nullptr && model->As<std::string>() != nullptr;
}

}  // namespace

FinishedTraining FinishTraining(const TrainingContext& context, const TrainingSettings& settings,
                                const LoadedModel& model, BegunTraining& begun,
                                const TrainedSteps& trained) {
  const RunSummary& summary = trained.summary;
  if (!summary.folder_lost.ok()) {
    return {.status = RescueTrained(context, settings, model, begun, summary)};
  }
  const bool goes_on = summary.interrupted && settings.save.mode.has_value();
  // First of all: nothing that may fail comes before the model.
  absl::Status exported;
  if (!goes_on) {
    StoreValues values(begun.trainer().store(), begun.trainer().schedule());
    exported = ExportTrained(context, settings, model, values, begun.frozen);
  }
  if (!exported.ok() || !summary.end_not_saved.ok()) {
    RunSummary lost = summary;
    lost.folder_lost = CheckRunFolder(context.io, begun.folder.open);
    if (!lost.folder_lost.ok()) {
      return {.status = RescueTrained(context, settings, model, begun, lost)};
    }
  }
  const TrainingReport report =
      ReportOf(context, settings, begun, trained, !goes_on && exported.ok());
  WriteRecords(context, settings, report);
  FinishedTraining finished;
  if (!exported.ok() || !summary.end_not_saved.ok()) {
    finished.status = NotKept(context.io, settings, begun, summary, exported);
  } else {
    finished.status =
        goes_on ? Interrupted(settings, begun, summary) : Ended(settings, begun, summary);
  }
  if (!report.exported) return finished;
  if (report.memory.peak_resident > begun.plan.prediction.memory.host_bytes()) {
    context.log.Warning("the run took more memory than was predicted; this is a bug of horizon");
  }
  finished.answer = TrainingAnswer{.text = report.Text(), .json = report.Json()};
  return finished;
}

absl::StatusOr<TrainingAnswer> FinishComplete(const TrainingContext& context,
                                              const TrainingSettings& settings,
                                              const LoadedModel& model, PreparedTraining prepared) {
  CHECK(prepared.complete());
  const Checkpoint& last = *prepared.resume;
  const std::string exported = settings.folder + "/model";
  const bool has_model = HasModelOf(context.io, settings.folder, last.manifest().step);
  if (const absl::Status whole = last.VerifyPayload(); !whole.ok()) {
    const absl::Status status =
        WithOlderCheckpoint(context.io, RunOfCheckpoint(last.path()), last.manifest().step, whole);
    if (!has_model) return status;
    return WithMessage(status, StrCat(status.message(), "; the run had ended, and the model it ",
                                      "exported is in ", exported));
  }
  if (!has_model) {
    ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointValues> values,
                     CheckpointValues::Open(context.io, last));
    ASSIGN_OR_RETURN(RunFolder folder, MakeRunFolder(context, settings, prepared.job, model,
                                                     std::move(prepared.lock)));
    folder.Keep();
    RETURN_IF_ERROR(ExportTrained(context, settings, model, *values, last.manifest().facts.frozen));
  }
  const int64_t step = last.manifest().step;
  JsonWriter json;
  json.BeginObject().Key("steps").Integer(step).Key("complete").Bool(true);
  json.Key("model").String(exported).EndObject();
  return TrainingAnswer{.text = StrCat("the run in ", settings.folder, " is complete: step ", step,
                                       " of ", prepared.job.steps, " is saved and ", exported,
                                       " is written; ", HowToTrainOn(prepared.job), "\n"),
                        .json = std::move(json).Finish()};
}

}  // namespace horizon
