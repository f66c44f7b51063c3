#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "model/catalog.h"
#include "model/read_config.h"

namespace horizon {

// Loads the model that a person names on the command line. The argument is tried in this order:
//
//   1. a catalog name, in any case ("qwen2.5-7b"). It wins even if a folder of that name exists;
//      write "./qwen2.5-7b" for the folder.
//   2. a folder that contains a config.json, or the path of a config.json.
//   3. a name or Hugging Face id of the catalog as people type it ("Qwen/Qwen2.5-7B-Instruct",
//      "qwen2.5 7b"; see FindInCatalog).
//
// spec.name is the catalog name, or the name of the folder that contains the file. Returns NotFound
// with the nearest known name or id if the argument is none of these, InvalidArgument with file,
// line and key if the file is bad, and the error of `io` if the file cannot be read.
// With `rope_scaling` (ParseRopeScaling) the positions are stretched.
absl::StatusOr<ModelConfig> LoadModelSpec(
    Io& io, const std::string& path_or_name,
    const std::optional<std::string>& rope_scaling = std::nullopt);

// The model together with the text of its config.json, for callers that write the file again
// (checkpoints, the exported model). The file is read only once, so the two always agree.
struct LoadedModel {
  ModelConfig config;
  std::string config_text;
};
absl::StatusOr<LoadedModel> LoadModel(
    Io& io, const std::string& path_or_name,
    const std::optional<std::string>& rope_scaling = std::nullopt);

// The catalog entry that LoadModelSpec would take for this argument, or nullptr if it would read a
// file or fail.
const CatalogEntry* CatalogEntryOf(Io& io, const std::string& path_or_name);

}  // namespace horizon
