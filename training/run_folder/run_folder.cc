#include "training/run_folder/run_folder.h"

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "model/files/carried_tensors.h"
#include "model/load_model_spec.h"
#include "runtime/checkpoint/checkpoint_names.h"
#include "training/run_folder/kept_layout.h"
#include "training/run_folder/start_files.h"

namespace horizon {
namespace {

constexpr std::string_view kElsewhere =
    "horizon export --base FOLDER takes the other parts from a model folder that has them";
constexpr std::string_view kCarriedFile = "carried.safetensors";

bool IsModelFolder(Io& io, const std::string& model) {
  const absl::StatusOr<FileInfo> info = io.Info(model);
  return info.ok() && info->kind == FileKind::kDirectory && CatalogEntryOf(io, model) == nullptr;
}

absl::StatusOr<bool> Exists(Io& io, const std::string& path) {
  const absl::StatusOr<FileInfo> info = io.Info(path);
  if (absl::IsNotFound(info.status())) return false;
  RETURN_IF_ERROR(info.status());
  return true;
}

// The tensors beside the text part: those a run has kept in `base`, or those of a model folder.
// None where there are no weights; weights that cannot be read are an error.
absl::StatusOr<std::optional<CarriedTensors>> FindCarried(Io& io, const std::string& base,
                                                          const ModelSpec& spec) {
  const std::string kept = JoinPath(base, kCarriedFile);
  ASSIGN_OR_RETURN(const bool has_kept, Exists(io, kept));
  if (has_kept) {
    absl::StatusOr<CarriedTensors> carried = LoadCarriedTensors(io, kept);
    if (carried.ok()) return carried;
    return WithMessage(carried.status(), StrCat(carried.status().message(), "; ", kElsewhere));
  }
  for (const std::string_view name : {"model.safetensors", "model.safetensors.index.json"}) {
    ASSIGN_OR_RETURN(const bool has_weights, Exists(io, JoinPath(base, name)));
    if (has_weights) return OpenCarriedTensors(io, base, spec);
  }
  return std::nullopt;
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
  ASSIGN_OR_RETURN(const bool empty, HoldsNoRun(io, run_folder));
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

absl::Status SaveModelFiles(Io& io, const std::string& run_folder, const InitialModel& initial) {
  const std::string base = JoinPath(run_folder, kBaseFolder);
  if (io.Info(base + "/config.json").ok()) return absl::OkStatus();
  absl::Status made = io.MakeDirectory(base);
  if (!made.ok() && !absl::IsAlreadyExists(made)) return made;
  if (IsModelFolder(io, initial.model)) {
    ASSIGN_OR_RETURN(const std::vector<std::string> companions, CompanionFiles(io, initial.model));
    for (const std::string& path : companions) {
      const std::string name = CompanionName(path);
      if (initial.chat_template.has_value() && IsChatTemplate(name)) continue;
      if (name.find('/') != std::string::npos) {
        made = io.MakeDirectory(ParentFolder(JoinPath(base, name)));
        if (!made.ok() && !absl::IsAlreadyExists(made)) return made;
      }
      RETURN_IF_ERROR(CopyFileAtomically(io, path, JoinPath(base, name)));
    }
    if (!initial.spec.wrapper.empty()) {
      ASSIGN_OR_RETURN(const std::optional<CarriedTensors> carried,
                       FindCarried(io, initial.model, initial.spec));
      if (carried.has_value()) {
        RETURN_IF_ERROR(SaveCarriedTensors(io, JoinPath(base, kCarriedFile), *carried));
      }
    }
    ASSIGN_OR_RETURN(const ExpertLayout experts, FindKeptLayout(io, initial.model, initial.spec));
    RETURN_IF_ERROR(KeepLayout(io, base, experts));
  }
  if (initial.chat_template.has_value()) {
    RETURN_IF_ERROR(WriteTextFile(io, JoinPath(base, kChatTemplateFile), *initial.chat_template));
  }
  return WriteTextFile(io, base + "/config.json", initial.config_text);
}

absl::StatusOr<std::string> AddModelFiles(Io& io, const std::string& base, const ModelSpec& spec,
                                          ExportOptions& options) {
  ASSIGN_OR_RETURN(options.copies, CompanionFiles(io, base));
  ASSIGN_OR_RETURN(options.experts, FindKeptLayout(io, base, spec));
  if (spec.wrapper.empty()) return std::string();
  ASSIGN_OR_RETURN(options.carried, FindCarried(io, base, spec));
  if (options.carried.has_value()) return std::string();
  std::erase_if(options.copies, IsProcessorFile);
  return StrCat("the model is the text part of a multimodal one (", spec.wrapper, "), and ", base,
                " has no tensors of its other parts: it is exported as the text model ",
                spec.family, "; ", kElsewhere);
}

}  // namespace horizon
