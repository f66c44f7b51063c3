#include "model/load_model_spec.h"

#include <string_view>
#include <utility>
#include <vector>

#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/nearest_word.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "model/rope_scaling.h"

namespace horizon {
namespace {

constexpr std::string_view kConfigName = "config.json";

absl::StatusOr<LoadedModel> LoadFromCatalog(const CatalogEntry& entry) {
  ASSIGN_OR_RETURN(const Document document,
                   ParseJson(StrCat("catalog/", entry.name, ".json"), entry.config));
  ASSIGN_OR_RETURN(ModelConfig config, ReadConfig(document, std::string(entry.name)));
  return LoadedModel{.config = std::move(config), .config_text = std::string(entry.config)};
}

// "models/qwen/" and "models/qwen/config.json" are called qwen, "my.json" is called my.
std::string NameOf(std::string_view path) {
  const auto last_part = [](std::string_view& text) {
    while (text.ends_with('/')) text.remove_suffix(1);
    const size_t slash = text.rfind('/');
    const std::string_view part = slash == text.npos ? text : text.substr(slash + 1);
    text.remove_suffix(part.size());
    return part;
  };
  std::string_view part = last_part(path);
  if (part == kConfigName) part = last_part(path);
  if (part.ends_with(".json") && part.size() > 5) part.remove_suffix(5);
  return part.empty() || part == "." || part == ".." ? "model" : std::string(part);
}

absl::Status NoSuchModel(const std::string& path_or_name) {
  const std::vector<std::string> names = CatalogNames();
  std::string list;
  for (const std::string& name : names) list += StrCat(list.empty() ? "" : ", ", name);
  std::vector<std::string> words = names;
  for (const CatalogId& id : CatalogIds()) words.emplace_back(id.id);
  return absl::NotFoundError(StrCat("no model ", Quoted(path_or_name),
                                    ": it is neither a known name or id nor a folder with a ",
                                    kConfigName, " nor such a file",
                                    DidYouMean(path_or_name, words), " (known names: ", list, ")"));
}

// The config.json that `path` leads to.
absl::StatusOr<std::string> ConfigFile(Io& io, const std::string& path) {
  const absl::StatusOr<FileInfo> info = io.Info(path);
  if (absl::IsNotFound(info.status())) return NoSuchModel(path);
  if (!info.ok()) return info.status();
  if (info->kind != FileKind::kDirectory) return path;
  std::string file = JoinPath(path, kConfigName);
  const absl::StatusOr<FileInfo> config = io.Info(file);
  if (absl::IsNotFound(config.status())) {
    return absl::NotFoundError(
        StrCat("cannot read the model in ", Quoted(path), ": the folder has no config.json"));
  }
  if (!config.ok()) return config.status();
  return file;
}

const CatalogEntry* EntryOf(Io& io, const std::string& path_or_name) {
  if (const CatalogEntry* entry = FindCatalogName(path_or_name)) return entry;
  const CatalogEntry* entry = FindInCatalog(path_or_name);
  // Any other answer than "there is no such file" is left to the reading of the file.
  return entry != nullptr && absl::IsNotFound(io.Info(path_or_name).status()) ? entry : nullptr;
}

absl::StatusOr<LoadedModel> LoadAsItIs(Io& io, const std::string& path_or_name) {
  if (const CatalogEntry* entry = EntryOf(io, path_or_name)) return LoadFromCatalog(*entry);
  ASSIGN_OR_RETURN(const std::string file, ConfigFile(io, path_or_name));
  ASSIGN_OR_RETURN(std::string text, ReadTextFile(io, file));
  ASSIGN_OR_RETURN(const Document document, ParseJson(file, text));
  ASSIGN_OR_RETURN(ModelConfig config, ReadConfig(document, NameOf(file)));
  return LoadedModel{.config = std::move(config), .config_text = std::move(text)};
}

}  // namespace

const CatalogEntry* CatalogEntryOf(Io& io, const std::string& path_or_name) {
  return EntryOf(io, path_or_name);
}

absl::StatusOr<LoadedModel> LoadModel(Io& io, const std::string& path_or_name,
                                      const std::optional<std::string>& rope_scaling) {
  ASSIGN_OR_RETURN(LoadedModel model, LoadAsItIs(io, path_or_name));
  if (!rope_scaling.has_value()) return model;
  ASSIGN_OR_RETURN(const RopeScaling scaling, ParseRopeScaling(*rope_scaling));
  const ModelSpec& spec = model.config.spec;
  ASSIGN_OR_RETURN(std::string text, WithRopeScaling(model.config_text, spec, scaling));
  ASSIGN_OR_RETURN(const Document document,
                   ParseJson(StrCat(path_or_name, " with --rope-scaling ", *rope_scaling), text));
  ASSIGN_OR_RETURN(ModelConfig config, ReadConfig(document, spec.name));
  return LoadedModel{.config = std::move(config), .config_text = std::move(text)};
}

absl::StatusOr<ModelConfig> LoadModelSpec(Io& io, const std::string& path_or_name,
                                          const std::optional<std::string>& rope_scaling) {
  ASSIGN_OR_RETURN(LoadedModel model, LoadModel(io, path_or_name, rope_scaling));
  return std::move(model.config);
}

}  // namespace horizon
