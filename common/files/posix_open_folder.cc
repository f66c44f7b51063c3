#include "common/files/posix_open_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

#include "common/files/io.h"
#include "common/text/str_cat.h"

namespace horizon {

absl::StatusOr<OpenFolder> OpenFolder::Open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (descriptor == -1) return IoError(errno, StrCat("open directory '", path, "'"));
  return OpenFolder(path, descriptor);
}

OpenFolder::~OpenFolder() {
  if (descriptor_ != -1) ::close(descriptor_);
}

bool OpenFolder::IsAtItsPath() const {
  struct stat held {};
  struct stat there {};
  if (::fstat(descriptor_, &held) != 0) return true;
  if (::stat(path_.c_str(), &there) != 0) return errno != ENOENT && errno != ENOTDIR;
  return held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

std::optional<std::string> OpenFolder::CurrentPath() const {
  struct stat held {};
  if (::fstat(descriptor_, &held) != 0 || held.st_nlink == 0) return std::nullopt;
  std::array<char, PATH_MAX> target;
  const std::string link = StrCat("/proc/self/fd/", descriptor_);
  const ssize_t size = ::readlink(link.c_str(), target.data(), target.size());
  if (size <= 0 || static_cast<size_t>(size) == target.size()) return std::nullopt;
  std::string path(target.data(), static_cast<size_t>(size));
  // The kernel marks a deleted one in its name; looking there tells it from such a name.
  struct stat there {};
  const bool same = ::stat(path.c_str(), &there) == 0 && held.st_dev == there.st_dev &&
                    held.st_ino == there.st_ino;
  return same ? std::optional(std::move(path)) : std::nullopt;
}

}  // namespace horizon
