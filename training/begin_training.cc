#include "training/begin_training.h"

#include <optional>
#include <string>
#include <utility>

#include "common/check.h"
#include "common/process_memory.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "runtime/checkpoint/load_checkpoint.h"
#include "runtime/export/config_dtype.h"
#include "runtime/export/export_model.h"
#include "runtime/export/text_part_config.h"
#include "runtime/loop/metrics.h"
#include "schedule/training_job.h"
#include "training/data_settings.h"
#include "training/frozen_weights.h"
#include "training/initial_weights.h"
#include "training/run_folder/run_folder.h"
#include "training/run_folder/run_record.h"
#include "training/saving.h"

namespace horizon {
namespace {

// The folder, made where it was missing, locked, and free of what an earlier start left.
absl::StatusOr<RunFolder> MakeAndLock(Io& io, const std::string& folder,
                                      std::optional<RunLock> lock) {
  absl::Status made = io.MakeDirectory(folder);
  if (!made.ok() && !absl::IsAlreadyExists(made)) return made;
  if (made.ok()) RETURN_IF_ERROR(io.SyncDirectory(ParentFolder(folder)));
  if (!lock.has_value()) {
    ASSIGN_OR_RETURN(lock, RunLock::Acquire(io, folder));
  }
  ASSIGN_OR_RETURN(OpenFolder open, OpenFolder::Open(folder));
  RunFolder run{.lock = *std::move(lock), .open = std::move(open)};
  ASSIGN_OR_RETURN(const bool begins, HoldsNoRun(io, folder));
  if (!begins) return run;
  RETURN_IF_ERROR(RemoveStartFiles(io, folder));
  run.start = std::make_unique<StartGuard>(
      io, folder, made.ok() ? StartGuard::Folder::kMade : StartGuard::Folder::kWasThere);
  return run;
}

// What lies beside the high halves in a checkpoint is a text model in bf16 for whoever opens it.
absl::StatusOr<std::string> CheckpointConfig(const LoadedModel& model) {
  const ModelSpec& spec = model.config.spec;
  std::string config = model.config_text;
  if (!spec.wrapper.empty()) {
    ASSIGN_OR_RETURN(config, TextPartConfig(model.config_text, spec));
  }
  return WithDtype(config, "bfloat16");
}

absl::StatusOr<OpenedTrainer> OpenPlanned(const TrainingContext& context,
                                          const TrainingSettings& settings, const ModelSpec& spec,
                                          Schedule schedule) {
  // The peak that is compared with the prediction is the run's alone, where the kernel allows it.
  ResetPeakMemory(context.io).IgnoreError();
  return OpenTrainer(spec, std::move(schedule),
                     {.device = settings.device,
                      .link = settings.plan.link,
                      .clock = context.clock,
                      .log = &context.log,
                      .non_finite = settings.non_finite,
                      .on_stall = context.on_stall});
}

// The pass that evaluates held-out data; null where there is none.
absl::StatusOr<std::unique_ptr<ModelPass>> OpenHeldOut(const ModelPass& trained,
                                                       const TrainingData& data) {
  if (data.eval == nullptr) return nullptr;
  return ModelPass::CreateBeside({.spec = trained.spec(),
                                  .job = trained.schedule().job,
                                  .plan = trained.schedule().plan,
                                  .kind = PassKind::kEvaluate},
                                 trained);
}

// Of what a run wrote before, only what belongs to the steps up to `step` stays.
absl::Status CutLines(Io& io, const std::string& folder, int64_t step) {
  RETURN_IF_ERROR(CutAfterStep(io, folder + "/metrics.jsonl", step));
  RETURN_IF_ERROR(CutAfterStep(io, folder + "/eval.jsonl", step));
  return CutAfterStep(io, folder + "/routing.jsonl", step);
}

// The state and the position in the data that the first step starts from.
absl::Status LoadState(const TrainingContext& context, const TrainingSettings& settings,
                       const ModelSpec& spec, BegunTraining& begun) {
  Io& io = context.io;
  if (!begun.resume.has_value()) {
    RETURN_IF_ERROR(CutLines(io, settings.folder, 0));  // of a run killed before it saved anything
    ASSIGN_OR_RETURN(const ParameterStore::Source weights,
                     OpenWeights(io, settings.initial_weights, spec));
    RETURN_IF_ERROR(begun.trainer().store().Fill(weights));
    ASSIGN_OR_RETURN(begun.frozen, begun.trainer().store().ChecksumFrozen());
    return absl::OkStatus();
  }
  const std::string& path = begun.resume->path();
  const Manifest& saved = begun.resume->manifest();
  RETURN_IF_ERROR(
      FillFrozen(io, settings.initial_weights, spec, path, saved, begun.trainer().store()));
  begun.frozen = saved.facts.frozen;
  RETURN_IF_ERROR(WithOlderCheckpoint(io, RunOfCheckpoint(path), saved.step,
                                      LoadCheckpoint(*begun.resume, begun.trainer().store())));
  RETURN_IF_ERROR(begun.data.train->Seek(saved.facts.data_position));
  RETURN_IF_ERROR(CutLines(io, settings.folder, saved.step));
  context.log.Info(StrCat("going on after step ", saved.step, " from ", path));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RunFolder> MakeRunFolder(const TrainingContext& context,
                                        const TrainingSettings& settings, const TrainingJob& job,
                                        const LoadedModel& model, std::optional<RunLock> lock) {
  Io& io = context.io;
  const std::string& folder = settings.folder;
  const ModelSpec& spec = model.config.spec;
  ASSIGN_OR_RETURN(RunFolder run, MakeAndLock(io, folder, std::move(lock)));
  // The job comes first: it tells a start that was killed from files of others (HoldsNoRun).
  RETURN_IF_ERROR(WriteTextFile(io, folder + "/job.json", WriteJob(job)));
  RETURN_IF_ERROR(WriteTextFile(io, folder + "/train.yaml", settings.options_text));
  ASSIGN_OR_RETURN(std::optional<std::string> chat_template,
                   ChosenChatTemplate(io, settings.data, job.model));
  RETURN_IF_ERROR(SaveModelFiles(io, folder,
                                 {.config_text = model.config_text,
                                  .model = job.model,
                                  .spec = spec,
                                  .chat_template = std::move(chat_template)}));
  if (!job.trains_all()) {
    RETURN_IF_ERROR(WriteWeightSource(io, folder, settings.initial_weights));
  }
  ASSIGN_OR_RETURN(run.checkpoint_config, CheckpointConfig(model));
  // Said now too, while there is time to give the run another folder to begin with.
  ExportOptions unused;
  ASSIGN_OR_RETURN(const std::string warning,
                   AddModelFiles(io, JoinPath(folder, kBaseFolder), spec, unused));
  if (!warning.empty()) context.log.Warning(warning);
  return run;
}

absl::StatusOr<BegunTraining> BeginTraining(const TrainingContext& context,
                                            const TrainingSettings& settings,
                                            const LoadedModel& model, PreparedTraining prepared) {
  CHECK(!prepared.complete());
  Io& io = context.io;
  const ModelSpec& spec = model.config.spec;
  TrainingPlan& plan = prepared.planned->plan;
  ASSIGN_OR_RETURN(OpenedTrainer opened,
                   OpenPlanned(context, settings, spec, std::move(prepared.planned->schedule)));
  ASSIGN_OR_RETURN(std::unique_ptr<ModelPass> held_out,
                   OpenHeldOut(opened.trainer->pass(), prepared.data));
  ASSIGN_OR_RETURN(CheckpointLayout layout, LayOutSaves(opened.trainer->schedule(), settings.save));
  RETURN_IF_ERROR(CheckDisk(io, settings.folder, settings.save, layout));
  ASSIGN_OR_RETURN(RunFolder folder,
                   MakeRunFolder(context, settings, prepared.job, model, std::move(prepared.lock)));
  RETURN_IF_ERROR(WriteRunRecord(io, settings.folder, spec, plan));
  const std::string saving = DescribeSaving(io, context.clock, settings, layout, plan);
  if (!saving.empty()) context.log.Info(saving);
  BegunTraining begun{.plan = std::move(plan),
                      .folder = std::move(folder),
                      .opened = std::move(opened),
                      .held_out = std::move(held_out),
                      .layout = std::move(layout),
                      .data = std::move(prepared.data),
                      .resume = std::move(prepared.resume)};
  RETURN_IF_ERROR(LoadState(context, settings, spec, begun));
  begun.folder.Keep();
  return begun;
}

}  // namespace horizon
