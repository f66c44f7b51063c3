#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace horizon {

// Truncates the regular file `path` to its first `size` bytes; a file that is not longer stays as
// it is. It needs no disk space, so it works on a full disk. Returns the errors of Io (IoError).
absl::Status TruncateFile(const std::string& path, uint64_t size);

}  // namespace horizon
