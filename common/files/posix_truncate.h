#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace horizon {

// Cuts the regular file `path` to its first `size` bytes; one that is shorter stays as it is. Takes
// no room on the disk, so it works on a full one. Io's errors.
absl::Status TruncateFile(const std::string& path, uint64_t size);

}  // namespace horizon
