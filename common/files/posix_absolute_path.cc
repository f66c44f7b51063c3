#include "common/files/posix_absolute_path.h"

#include <filesystem>
#include <system_error>

namespace horizon {

std::string AbsolutePath(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path absolute = std::filesystem::absolute(path, failed);
  // Without a working folder there is nothing better than what was given.
  return failed ? path : absolute.lexically_normal().string();
}

}  // namespace horizon
