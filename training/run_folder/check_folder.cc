#include "training/run_folder/check_folder.h"

#include <cerrno>
#include <optional>
#include <string>

#include "common/text/str_cat.h"

namespace horizon {
namespace {

absl::Status Lost(const std::string& folder, const std::string& what) {
  return WithMessage(IoError(ESTALE, ""),
                     StrCat("the run folder ", folder, " was ", what, " while the run went on"));
}

}  // namespace

absl::Status CheckRunFolder(Io& io, const OpenFolder& folder) {
  if (folder.IsAtItsPath()) {
    // Whoever removes a folder that is written to may be left with an empty one.
    const bool emptied = absl::IsNotFound(io.Info(JoinPath(folder.path(), "job.json")).status());
    return emptied ? Lost(folder.path(), "emptied (its job.json is gone)") : absl::OkStatus();
  }
  const std::optional<std::string> now = folder.CurrentPath();
  return Lost(folder.path(), now.has_value() ? StrCat("moved to ", *now) : "deleted");
}

}  // namespace horizon
