#include "training/train_steps.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "common/status_macros.h"
#include "runtime/checkpoint/checkpoint_saver.h"
#include "runtime/checkpoint/resume_check.h"
#include "training/run_folder/check_folder.h"
#include "training/run_folder/run_record.h"
#include "training/run_log.h"

namespace horizon {
namespace {

CheckpointSaver::Options SaverOptions(const TrainingContext& context,
                                      const TrainingSettings& settings,
                                      const BegunTraining& begun) {
  return {.io = context.io,
          .clock = context.clock,
          .lock = begun.folder.lock,
          .layout = begun.layout,
          .extra_files = {{.name = "config.json", .text = begun.folder.checkpoint_config}},
          .keep = settings.save.keep,
          .replace = begun.resume.has_value()};
}

std::optional<RunEvaluation> EvaluationOf(const TrainingSettings& settings, BegunTraining& begun,
                                          RunLog& log) {
  if (begun.held_out == nullptr) return std::nullopt;
  PackedSource& data = *begun.data.eval;
  return RunEvaluation{
      .pass = *begun.held_out,
      .data = data,
      .data_ended = [&data] { return data.at_end(); },
      .every = settings.eval_every,
      .on_evaluation = [&log](int64_t step,
                              const Evaluation& found) { log.OnEvaluation(step, found); }};
}

}  // namespace

absl::StatusOr<TrainedSteps> TrainSteps(const TrainingContext& context,
                                        const TrainingSettings& settings, BegunTraining& begun,
                                        const std::function<bool()>& stop_requested) {
  Trainer& trainer = begun.trainer();
  const ModelSpec& spec = trainer.pass().spec();
  RunLog log(context.log, context.clock, spec, begun.plan);
  SavingCost cost;
  std::unique_ptr<CheckpointSaver> saver;
  std::optional<RunSaving> saving;
  if (settings.save.mode.has_value()) {
    ASSIGN_OR_RETURN(saver, CheckpointSaver::Create(trainer.schedule(), trainer.store(),
                                                    SaverOptions(context, settings, begun)));
    saving.emplace(RunSaving{.saver = *saver,
                             .every = settings.save.every,
                             .must_succeed = settings.save.must_succeed,
                             .model_fingerprint = FingerprintOf(spec),
                             .frozen = begun.frozen,
                             .data_fingerprint = begun.data.fingerprint,
                             .on_save = [&](const SaveReport& report) {
                               cost.Add(report);
                               LogSave(context.log, report, settings.save, begun.job().steps);
                             }});
  }
  const std::optional<RunEvaluation> evaluation = EvaluationOf(settings, begun, log);
  TimelineRecorder recorder(context.io, context.clock, context.log, settings.folder,
                            trainer.schedule(), begun.plan.timelines);
  TrainingRun run{.io = context.io,
                  .clock = context.clock,
                  .device = begun.opened.device(),
                  .trainer = trainer,
                  .data = *begun.data.train,
                  .folder = settings.folder,
                  .metrics = settings.metrics,
                  .predicted_step_seconds = begun.plan.prediction.step_seconds,
                  .log_gradient_norms = settings.log_gradient_norms,
                  .saving = saving.has_value() ? &*saving : nullptr,
                  .evaluation = evaluation.has_value() ? &*evaluation : nullptr,
                  .stop_requested = stop_requested,
                  .check_folder = [&] { return CheckRunFolder(context.io, begun.folder.open); },
                  .on_step = [&](const StepProgress& progress) { log.OnStep(progress); },
                  .on_warning = [&](const std::string& text) { context.log.Warning(text); },
                  .on_measured = [&](const MeasuredStep& step) { recorder.Record(step); }};
  if (begun.resume.has_value()) {
    run.first_step = begun.resume->manifest().step + 1;
    run.counters = begun.resume->manifest().facts.counters;
  }
  ASSIGN_OR_RETURN(RunSummary summary, RunTrainingLoop(run));
  return TrainedSteps{.summary = std::move(summary), .saving = cost};
}

}  // namespace horizon
