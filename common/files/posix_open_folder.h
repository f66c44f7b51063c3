#pragma once

#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace horizon {

// Holds a folder open, to find out later whether somebody moved, deleted or replaced it:
//   ASSIGN_OR_RETURN(const OpenFolder folder, OpenFolder::Open(path));
//   ...
//   if (!folder.IsAtItsPath()) Complain(folder.CurrentPath());
// It does not prevent them from doing so. Any thread may use it.
class OpenFolder {
 public:
  // Returns the errors of Io (IoError); NotFound also if `path` is not a folder.
  static absl::StatusOr<OpenFolder> Open(const std::string& path);
  OpenFolder(OpenFolder&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  OpenFolder& operator=(OpenFolder&&) = delete;
  ~OpenFolder();

  const std::string& path() const { return path_; }
  // Whether the path that it was opened with still leads to this very folder, by device and inode.
  // Returns true if that cannot be determined, for instance because a file server does not respond.
  bool IsAtItsPath() const;
  // The absolute path of the folder now; nullopt if it was deleted or the path cannot be
  // determined.
  std::optional<std::string> CurrentPath() const;

 private:
  OpenFolder(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_;
};

}  // namespace horizon
