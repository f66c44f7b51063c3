#pragma once

#include <string>

#include "absl/status/status.h"
#include "common/files/io.h"

namespace horizon {

// Removes a checkpoint's folder that is no longer needed: first its files, then the folder itself.
// Its name must already be a temporary one, and that rename must be synced to disk. Links are
// removed, never followed. A subfolder, which is not ours, stays and is an error. A folder that
// does not exist is no error. Continues after errors and returns the first.
absl::Status RemoveFolder(Io& io, const std::string& folder);

}  // namespace horizon
