#include "training/prepare_training.h"

#include <string>
#include <utility>
#include <vector>

#include "common/status_macros.h"
#include "model/trained_tensors.h"
#include "runtime/checkpoint/resume_check.h"
#include "schedule/check_runnable.h"
#include "schedule/stream_plan.h"
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
  const TrainingJob& job = settings.job;
  const ModelSpec& spec = model.config.spec;
  RETURN_IF_ERROR(CheckRunnable(spec, job, StreamPlan{}));
  PreparedTraining prepared;
  ASSIGN_OR_RETURN(prepared.lock, LockIfThere(context.io, settings.folder));
  ASSIGN_OR_RETURN(prepared.resume, FindResume(context.io, settings.resume, settings.folder));
  // A run that goes on reads its frozen tensors there.
  if (!prepared.resume.has_value() || !job.trains_all()) {
    RETURN_IF_ERROR(CheckWeightSource(context.io, settings.initial_weights));
  }
  ASSIGN_OR_RETURN(prepared.data,
                   OpenJobData(context.io, context.clock, context.log, settings.data, spec, job));
  if (prepared.resume.has_value()) {
    RETURN_IF_ERROR(CheckResume(*prepared.resume, job, spec, prepared.data));
    if (prepared.resume->manifest().step >= job.steps) return prepared;
  }
  ASSIGN_OR_RETURN(prepared.planned, PlanTraining(context, settings, spec));
  return prepared;
}

}  // namespace horizon
