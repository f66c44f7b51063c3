#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "model/catalog.h"
#include "model/read_config.h"

namespace horizon {

// The model a person names on the command line. In this order it is
//   a catalog name, in any case ("qwen2.5-7b"), even if a folder of that name exists: write
//   "./qwen2.5-7b" for the folder;
//   a folder that holds a config.json, or a config.json itself;
//   a Hugging Face id that the catalog has, in any case ("Qwen/Qwen2.5-7B-Instruct").
// spec.name is the catalog name, or the name of the folder the file lies in.
// NotFound, with the nearest name or id, when it is none of these; InvalidArgument with file, line
// and key when the file is bad; Io's error when it cannot be read.
absl::StatusOr<ModelConfig> LoadModelSpec(Io& io, const std::string& path_or_name);

// The same with the text of the config.json, for whoever writes it down again (checkpoints, the
// exported model): read once, so that both are of one file.
struct LoadedModel {
  ModelConfig config;
  std::string config_text;
};
absl::StatusOr<LoadedModel> LoadModel(Io& io, const std::string& path_or_name);

// The catalog entry that LoadModelSpec takes, or nullptr where it reads a file (or fails).
const CatalogEntry* CatalogEntryOf(Io& io, const std::string& path_or_name);

}  // namespace horizon
