#pragma once

#include <string>

#include "absl/status/status.h"
#include "common/files/io.h"

namespace horizon {

// Makes a folder, and those above it, where they are missing.
absl::Status MakeFolders(Io& io, const std::string& path);

}  // namespace horizon
