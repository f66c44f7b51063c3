#pragma once

#include <string>

#include "absl/status/status.h"
#include "common/files/io.h"

namespace horizon {

// Removes a folder of a checkpoint that nobody counts on any more (its name is a temporary one, and
// durably so): its files, then itself. Links are removed, never followed. A folder inside, which
// is not ours, stays and is an error. NotFound is no error. Goes on after errors; returns the
// first.
absl::Status RemoveFolder(Io& io, const std::string& folder);

}  // namespace horizon
