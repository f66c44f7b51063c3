#include "training/run_folder/kept_layout.h"

#include <string_view>
#include <utility>
#include <vector>

#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "model/files/model_files.h"
#include "model/stages.h"

namespace horizon {
namespace {

constexpr char kFile[] = "experts.json";
constexpr std::string_view kKey = "layout";

absl::StatusOr<bool> Exists(Io& io, const std::string& path) {
  const absl::StatusOr<FileInfo> info = io.Info(path);
  if (absl::IsNotFound(info.status())) return false;
  RETURN_IF_ERROR(info.status());
  return true;
}

absl::StatusOr<ExpertLayout> Load(Io& io, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(io, path));
  ASSIGN_OR_RETURN(const Document document, ParseJson(path, text));
  ObjectReader reader(document, document.root);
  std::string word;
  reader.Required(kKey, &word);
  if (reader.ok() && word != ToString(ExpertLayout::kFused)) {
    reader.Fail(
        kKey, StrCat("is ", Quoted(word), "; only ", ToString(ExpertLayout::kFused), " is known"));
  }
  RETURN_IF_ERROR(reader.Finish());
  return ExpertLayout::kFused;
}

}  // namespace

absl::StatusOr<ExpertLayout> FindKeptLayout(Io& io, const std::string& base,
                                            const ModelSpec& spec) {
  if (spec.experts.experts == 0 || spec.experts.fused_tensors) return ExpertLayout::kUsual;
  const std::string kept = JoinPath(base, kFile);
  ASSIGN_OR_RETURN(const bool has_kept, Exists(io, kept));
  if (has_kept) return Load(io, kept);
  for (const std::string_view name : {"model.safetensors", "model.safetensors.index.json"}) {
    ASSIGN_OR_RETURN(const bool has_weights, Exists(io, JoinPath(base, name)));
    if (!has_weights) continue;
    ASSIGN_OR_RETURN(const ModelFiles files, ModelFiles::Open(io, base));
    const std::vector<Stage> stages = ListStages(spec);
    ASSIGN_OR_RETURN(const DiskNaming naming, FindNaming(spec, stages, files));
    return FindExpertLayout(stages, naming, files);
  }
  return ExpertLayout::kUsual;
}

absl::Status KeepLayout(Io& io, const std::string& base, ExpertLayout layout) {
  if (layout == ExpertLayout::kUsual) return absl::OkStatus();
  JsonWriter json;
  json.BeginObject().Key(kKey).String(ToString(layout)).EndObject();
  return WriteTextFile(io, JoinPath(base, kFile), std::move(json).Finish());
}

}  // namespace horizon
