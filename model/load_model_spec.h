#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/io.h"
#include "model/read_config.h"

namespace horizon {

// The model a person names on the command line: a catalog name (any case), a folder that holds a
// config.json, or a config.json itself. A word that is a catalog name is one even if a folder of
// that name exists ("./qwen2.5-7b" means the folder). spec.name is the catalog name, or the name of
// the folder the file lies in.
// NotFound, with the nearest catalog name, when it is none of these; InvalidArgument with file,
// line and key when the file is bad; Io's error when it cannot be read.
absl::StatusOr<ModelConfig> LoadModelSpec(Io& io, const std::string& path_or_name);

}  // namespace horizon
