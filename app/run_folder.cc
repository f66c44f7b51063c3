#include "app/run_folder.h"

#include <memory>
#include <vector>

#include "common/status_macros.h"
#include "common/str_cat.h"
#include "model/load_model_spec.h"
#include "runtime/checkpoint/checkpoint_names.h"
#include "runtime/export_model.h"

namespace horizon {
namespace {

absl::StatusOr<bool> IsEmpty(Io& io, const std::string& folder) {
  const absl::StatusOr<std::vector<std::string>> names = io.List(folder);
  if (absl::IsNotFound(names.status())) return true;
  RETURN_IF_ERROR(names.status());
  return names->empty();
}

}  // namespace

std::string ParentFolder(const std::string& path) {
  const size_t end = path.find_last_not_of('/');
  const size_t slash = end == std::string::npos ? end : path.rfind('/', end);
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string RunOfCheckpoint(const std::string& checkpoint) {
  return ParentFolder(ParentFolder(checkpoint));
}

absl::StatusOr<std::optional<Checkpoint>> FindResume(Io& io,
                                                     const std::optional<std::string>& resume,
                                                     const std::string& run_folder) {
  ASSIGN_OR_RETURN(const bool empty, IsEmpty(io, run_folder));
  if (!resume.has_value()) {
    if (empty) return std::nullopt;
    return absl::InvalidArgumentError(
        StrCat("the output folder ", run_folder,
               " is not empty: --resume auto goes on with the run in it; for a new run name a new "
               "folder, nothing is ever overwritten"));
  }
  if (*resume == "auto") {
    if (empty) return std::nullopt;
    absl::StatusOr<Checkpoint> newest = OpenNewestCheckpoint(io, run_folder);
    if (!absl::IsNotFound(newest.status())) return newest;
    // A run that was stopped before its first checkpoint begins again.
    if (io.Info(run_folder + "/job.json").ok()) return std::nullopt;
    return absl::InvalidArgumentError(StrCat("--resume auto: ", run_folder,
                                             " holds files but no run of horizon; name the folder "
                                             "of a run, or a new one"));
  }
  const bool is_checkpoint = io.Info(JoinPath(*resume, kManifestFile)).ok();
  if (is_checkpoint) return Checkpoint::Open(io, *resume);
  absl::StatusOr<Checkpoint> newest = OpenNewestCheckpoint(io, *resume);
  if (absl::IsNotFound(newest.status())) {
    return absl::NotFoundError(StrCat("--resume ", *resume,
                                      ": there is no checkpoint; name the folder of a run, or of "
                                      "one step in its checkpoints"));
  }
  return newest;
}

absl::StatusOr<std::string> ConfigTextOf(Io& io, const std::string& model) {
  if (const CatalogEntry* entry = CatalogEntryOf(io, model)) return std::string(entry->config);
  const absl::StatusOr<FileInfo> info = io.Info(model);
  RETURN_IF_ERROR(info.status());
  const bool folder = info->kind == FileKind::kDirectory;
  return ReadTextFile(io, folder ? model + "/config.json" : model);
}

absl::Status KeepModelFiles(Io& io, const std::string& run_folder, const std::string& config_text,
                            const std::string& model) {
  const std::string base = JoinPath(run_folder, kBaseFolder);
  if (io.Info(base + "/config.json").ok()) return absl::OkStatus();
  const absl::Status made = io.MakeDirectory(base);
  if (!made.ok() && !absl::IsAlreadyExists(made)) return made;
  const absl::StatusOr<FileInfo> info = io.Info(model);
  if (info.ok() && info->kind == FileKind::kDirectory && CatalogEntryOf(io, model) == nullptr) {
    ASSIGN_OR_RETURN(const std::vector<std::string> companions, CompanionFiles(io, model));
    for (const std::string& path : companions) {
      const std::string name = path.substr(path.rfind('/') + 1);
      RETURN_IF_ERROR(CopyFileAtomically(io, path, JoinPath(base, name)));
    }
  }
  return WriteTextFile(io, base + "/config.json", config_text);
}

}  // namespace horizon
