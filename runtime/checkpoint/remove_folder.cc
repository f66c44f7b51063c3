#include "runtime/checkpoint/remove_folder.h"

#include <vector>

#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {

absl::Status RemoveFolder(Io& io, const std::string& folder) {
  const absl::StatusOr<FileInfo> info = io.Info(folder);
  if (absl::IsNotFound(info.status())) return absl::OkStatus();
  RETURN_IF_ERROR(info.status());
  if (info->is_symlink || info->kind != FileKind::kDirectory) {
    return absl::DataLossError(StrCat("'", folder, "' is not a folder itself and stays"));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, io.List(folder));
  absl::Status first;
  for (const std::string& name : names) {
    const absl::Status removed = io.Unlink(JoinPath(folder, name));
    if (first.ok() && !absl::IsNotFound(removed)) first = removed;
  }
  const absl::Status removed = io.RemoveDirectory(folder);
  return first.ok() ? removed : first;
}

}  // namespace horizon
