#pragma once

#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace horizon {

// A folder that is held open, so that it stays known when somebody moves or deletes it, or puts
// another one in its place:
//   ASSIGN_OR_RETURN(const OpenFolder folder, OpenFolder::Open(path));
//   ...
//   if (!folder.IsAtItsPath()) Complain(folder.CurrentPath());
// Nothing keeps others from doing that. Any thread.
class OpenFolder {
 public:
  // Io's errors; NotFound too where `path` is no folder.
  static absl::StatusOr<OpenFolder> Open(const std::string& path);
  OpenFolder(OpenFolder&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  OpenFolder& operator=(OpenFolder&&) = delete;
  ~OpenFolder();

  const std::string& path() const { return path_; }
  // Whether the path it was opened with still leads to this very folder, by device and inode. An
  // error in looking (a server that does not answer) is no sign that it does not.
  bool IsAtItsPath() const;
  // Where it is now, from the root; nothing when it was deleted or that cannot be told.
  std::optional<std::string> CurrentPath() const;

 private:
  OpenFolder(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_;
};

}  // namespace horizon
