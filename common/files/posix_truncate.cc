#include "common/files/posix_truncate.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "common/files/io.h"
#include "common/text/str_cat.h"

namespace horizon {

absl::Status TruncateFile(const std::string& path, uint64_t size) {
  const auto failed = [&] {
    return IoError(errno, StrCat("shorten '", path, "' to ", size, " bytes"));
  };
  struct stat state {};
  if (::stat(path.c_str(), &state) != 0) return failed();
  if (static_cast<uint64_t>(state.st_size) <= size) return absl::OkStatus();
  if (::truncate(path.c_str(), static_cast<off_t>(size)) != 0) return failed();
  return absl::OkStatus();
}

}  // namespace horizon
