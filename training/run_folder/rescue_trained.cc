#include "training/run_folder/rescue_trained.h"

#include <optional>
#include <string>
#include <vector>

#include "common/text/str_cat.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/export/export_model.h"
#include "training/run_folder/export_trained.h"
#include "training/run_folder/run_folder.h"

namespace horizon {
namespace {

// A name that nothing has, of a folder beside the run's.
std::string NewFolderBeside(Io& io, std::string folder) {
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  std::string name = folder + "-rescued";
  for (int number = 2; io.Info(name).ok(); ++number) name = StrCat(folder, "-rescued-", number);
  return name;
}

// Where the files that belong to the model are found when the run folder is not at its path; empty:
// nowhere.
std::string BaseElsewhere(Io& io, const std::optional<std::string>& moved_to,
                          const std::string& model) {
  if (moved_to.has_value() && io.Info(JoinPath(*moved_to, kBaseFolder)).ok()) {
    return JoinPath(*moved_to, kBaseFolder);
  }
  const absl::StatusOr<FileInfo> info = io.Info(model);
  return info.ok() && info->kind == FileKind::kDirectory ? model : "";
}

// How the run goes on from what is left, in whole sentences.
std::string WhatIsLeft(Io& io, const std::optional<std::string>& moved_to, int64_t steps) {
  std::vector<FoundCheckpoint> found;
  if (moved_to.has_value()) {
    absl::StatusOr<std::vector<FoundCheckpoint>> there = FindCheckpoints(io, *moved_to);
    if (there.ok()) found = *std::move(there);
  }
  if (found.empty()) return "No checkpoint is left to go on from";
  const std::string lost = found.front().step < steps
                               ? StrCat("; what was trained after it is not saved there")
                               : std::string();
  return StrCat("Its newest checkpoint is of step ", found.front().step, lost,
                ". Go on with: horizon train --config ", *moved_to, "/train.yaml --output ",
                *moved_to, " --resume auto");
}

}  // namespace

absl::Status RescueTrained(const TrainingContext& context, const TrainingSettings& settings,
                           const LoadedModel& model, BegunTraining& begun,
                           const RunSummary& summary) {
  Io& io = context.io;
  const std::string rescued = NewFolderBeside(io, settings.folder);
  context.log.Warning(StrCat(summary.folder_lost.message(), "; training stops after step ",
                             summary.steps, " and the model is exported to ", rescued));
  const OpenFolder& folder = begun.folder.open;
  const std::optional<std::string> moved_to =
      folder.IsAtItsPath() ? std::nullopt : folder.CurrentPath();
  StoreValues values(begun.trainer().store(), begun.trainer().schedule());
  const absl::Status exported = ExportInto(context, settings, model, values,
                                           {.folder = rescued,
                                            .base = BaseElsewhere(io, moved_to, settings.job.model),
                                            .frozen = begun.frozen});
  const std::string kept =
      exported.ok() ? StrCat("The model as it was then is in ", rescued)
                    : StrCat("The model as it was then is lost, since it could not be exported to ",
                             rescued, " either: ", std::string(exported.message()));
  return WithMessage(
      summary.folder_lost,
      StrCat(summary.folder_lost.message(), "; training stopped after step ", summary.steps, " of ",
             begun.job().steps, ". ", kept, ". ", WhatIsLeft(io, moved_to, summary.steps)));
}

}  // namespace horizon
