#pragma once

#include <string>

#include "absl/status/status.h"
#include "common/files/io.h"

namespace horizon {

// Creates a folder and its missing parents, as `mkdir -p` does. Returns the error of Io on failure.
absl::Status MakeFolders(Io& io, const std::string& path);

}  // namespace horizon
