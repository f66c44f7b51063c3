#include "common/files/posix_rename.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace horizon {
namespace {

int RenameDirectory(const std::string& from, const std::string& to) {
  struct stat there {};
  if (::lstat(to.c_str(), &there) == 0) return EEXIST;
  if (errno != ENOENT) return errno;
  if (::rename(from.c_str(), to.c_str()) == 0) return 0;
  return errno == ENOTEMPTY ? EEXIST : errno;
}

}  // namespace

int RenameNoReplaceAtomically(const std::string& from, const std::string& to) {
  const int result = ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
  return result == 0 ? 0 : errno;
}

int RenameNoReplaceByLink(const std::string& from, const std::string& to) {
  struct stat source {};
  if (::lstat(from.c_str(), &source) != 0) return errno;
  if (S_ISDIR(source.st_mode)) return RenameDirectory(from, to);
  if (::link(from.c_str(), to.c_str()) != 0) return errno;
  if (::unlink(from.c_str()) == 0) return 0;
  const int error_number = errno;
  ::unlink(to.c_str());
  return error_number;
}

}  // namespace horizon
