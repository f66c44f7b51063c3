#include "common/files/make_folders.h"

namespace horizon {

absl::Status MakeFolders(Io& io, const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string folder = path.substr(0, end);
    const absl::StatusOr<FileInfo> info = io.Info(folder);
    if (!info.ok()) {
      absl::Status made = io.MakeDirectory(folder);
      if (!made.ok() && !absl::IsAlreadyExists(made)) return made;
    }
    if (end == std::string::npos || end + 1 == path.size()) return absl::OkStatus();
  }
}

}  // namespace horizon
