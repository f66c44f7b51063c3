#include "training/run_folder/export_trained.h"

#include <string>

#include "common/status_macros.h"
#include "runtime/checkpoint/remove_folder.h"
#include "training/frozen_weights.h"
#include "training/run_folder/run_folder.h"

namespace horizon {

absl::Status ExportInto(const TrainingContext& context, const TrainingSettings& settings,
                        const LoadedModel& model, ModelValues& values, const ExportPlace& place) {
  Io& io = context.io;
  const ModelSpec& spec = model.config.spec;
  ExportOptions to{
      .folder = place.folder, .dtype = settings.export_type, .config_text = model.config_text};
  if (!place.base.empty()) {
    ASSIGN_OR_RETURN(const std::string warning, AddModelFiles(io, place.base, spec, to));
    if (!warning.empty()) context.log.Warning(warning);
  }
  ASSIGN_OR_RETURN(to.frozen, OpenFrozen(io, settings.initial_weights, spec,
                                         {.path = settings.folder,
                                          .job = settings.job,
                                          .initial_checksums = place.frozen}));
  return ExportModel(io, spec, values, to);
}

absl::Status ExportTrained(const TrainingContext& context, const TrainingSettings& settings,
                           const LoadedModel& model, ModelValues& values,
                           const std::vector<FrozenTensor>& frozen) {
  Io& io = context.io;
  const std::string folder = settings.folder + "/model";
  const std::string older = settings.folder + "/model.old";
  const bool whole = io.Info(folder + "/config.json").ok();
  if (whole) {
    RETURN_IF_ERROR(RemoveFolder(io, older));
    RETURN_IF_ERROR(io.Rename(folder, older));
  } else {
    RETURN_IF_ERROR(RemoveFolder(io, folder));  // of a process that was killed here
  }
  const absl::Status written = ExportInto(
      context, settings, model, values,
      {.folder = folder, .base = JoinPath(settings.folder, kBaseFolder), .frozen = frozen});
  if (!written.ok() && whole) io.Rename(older, folder).IgnoreError();
  RETURN_IF_ERROR(written);
  return RemoveFolder(io, older);
}

}  // namespace horizon
