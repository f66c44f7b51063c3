#include "training/prepare_training.h"

#include <string>
#include <utility>
#include <vector>

#include "common/files/io.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "model/trained_tensors.h"
#include "runtime/checkpoint/resume_check.h"
#include "schedule/check_runnable.h"
#include "schedule/load_files.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"
#include "training/count_sample_lengths.h"
#include "training/count_steps.h"
#include "training/data_settings.h"
#include "training/initial_weights.h"
#include "training/run_folder/run_folder.h"

namespace horizon {
namespace {

// A folder that is there is locked before anything in it is believed.
absl::StatusOr<std::optional<RunLock>> LockIfThere(Io& io, const std::string& folder) {
  if (!io.Info(folder).ok()) return std::nullopt;
  return RunLock::Acquire(io, folder);
}

// The settings' job with the number of steps that its epochs have. A run that goes on counts from
// where its data stands: an epoch that ended with a short step is over.
absl::StatusOr<TrainingJob> CountedJob(const TrainingContext& context, TrainingJob job,
                                       const PreparedTraining& prepared) {
  if (job.epochs == 0) return job;
  DataPosition position;
  int64_t done = 0;
  if (prepared.resume.has_value()) {
    const Manifest& saved = prepared.resume->manifest();
    if (saved.facts.data_fingerprint != prepared.data.fingerprint) {
      job.steps = saved.facts.job.steps;  // the position means nothing; CheckResume refuses it
      return job;
    }
    position = saved.facts.data_position;
    done = saved.step;
  }
  if (position.epoch > job.epochs || (position.epoch == job.epochs && position.index > 0)) {
    return absl::InvalidArgumentError(StrCat(
        "epochs ", job.epochs, ": '", prepared.resume->path(), "' is in epoch ", position.epoch + 1,
        " of the data already; give at least ", position.epoch + 1, " epochs"));
  }
  ASSIGN_OR_RETURN(const CountedSteps counted,
                   CountSteps(*prepared.data.train, job, job.epochs, position, done));
  job.steps = counted.steps;
  context.log.Info(DescribeCount(counted, job.epochs));
  return job;
}

// Whether the folder belongs to a run that this job has extended at this checkpoint, and that was
// killed before it saved anything since. Its job.json says so.
bool WasExtendedHere(Io& io, const std::string& folder, const Manifest& saved,
                     const TrainingJob& job) {
  const absl::StatusOr<TrainingJob> begun = LoadJob(io, JoinPath(folder, "job.json"));
  return begun.ok() && begun->schedule_start == saved.step && SameSchedule(*begun, job);
}

// The job with the step at which its learning-rate schedule begins: where the checkpoint's did,
// unless a new one is to begin now. The same settings again go on with what they have begun.
absl::StatusOr<TrainingJob> ScheduledJob(const TrainingContext& context,
                                         const TrainingSettings& settings, TrainingJob job,
                                         const PreparedTraining& prepared) {
  if (!prepared.resume.has_value()) {
    if (!settings.restart_schedule) return job;
    return absl::InvalidArgumentError(
        StrCat("--restart-schedule is for a run that goes on, and ", settings.folder,
               " has no checkpoint: leave it out, or name a checkpoint with --resume"));
  }
  const Manifest& saved = prepared.resume->manifest();
  job.schedule_start = saved.facts.job.schedule_start;
  if (job.steps <= saved.step || SameSchedule(job, saved.facts.job)) return job;
  if (!settings.restart_schedule && !WasExtendedHere(context.io, settings.folder, saved, job)) {
    return job;
  }
  job.schedule_start = saved.step;
  context.log.Info(StrCat("a new learning-rate schedule (", ToString(job.learning_rate_schedule),
                          ") begins after step ", saved.step, ", over ", job.steps - saved.step,
                          " steps"));
  return job;
}

absl::Status CheckResume(const Checkpoint& resume, const TrainingJob& job, const ModelSpec& spec,
                         const TrainingData& data) {
  ASSIGN_OR_RETURN(const std::vector<std::string> trained,
                   TrainedNames(spec, {.train = job.train, .freeze = job.freeze}));
  return CheckResumable(resume.path(), resume.manifest(),
                        {.job = job,
                         .model_fingerprint = FingerprintOf(spec),
                         .data_fingerprint = data.fingerprint,
                         .trained = trained});
}

}  // namespace

absl::StatusOr<PreparedTraining> PrepareTraining(const TrainingContext& context,
                                                 const TrainingSettings& settings,
                                                 const LoadedModel& model) {
  const ModelSpec& spec = model.config.spec;
  RETURN_IF_ERROR(CheckRunnable(spec, settings.job, StreamPlan{}));
  PreparedTraining prepared;
  ASSIGN_OR_RETURN(prepared.lock, LockIfThere(context.io, settings.folder));
  ASSIGN_OR_RETURN(prepared.resume, FindResume(context.io, settings.resume, settings.folder));
  // A run that goes on reads its frozen tensors there.
  if (!prepared.resume.has_value() || !settings.job.trains_all()) {
    RETURN_IF_ERROR(CheckWeightSource(context.io, settings.initial_weights));
  }
  ASSIGN_OR_RETURN(prepared.data, OpenJobData(context.io, context.clock, context.log, settings.data,
                                              spec, settings.job));
  ASSIGN_OR_RETURN(TrainingJob counted, CountedJob(context, settings.job, prepared));
  ASSIGN_OR_RETURN(prepared.job, ScheduledJob(context, settings, std::move(counted), prepared));
  // Attention costs what the samples cost, so the plan has to know how long they are.
  ASSIGN_OR_RETURN(prepared.job.sample_lengths,
                   CountSampleLengths(*prepared.data.train, prepared.job));
  const TrainingJob& job = prepared.job;
  if (prepared.resume.has_value()) {
    RETURN_IF_ERROR(CheckResume(*prepared.resume, job, spec, prepared.data));
    if (prepared.resume->manifest().step >= job.steps) return prepared;
  }
  RETURN_IF_ERROR(ValidateJob(spec, job));
  ASSIGN_OR_RETURN(prepared.planned, PlanTraining(context, settings, job, spec));
  return prepared;
}

}  // namespace horizon
