#pragma once

#include <string>

namespace horizon {

// Makes a path absolute, so that it can be stored in a file and used by a process that was started
// in another folder. The file system is not consulted: symbolic links are not resolved, and the
// file need not exist. Returns `path` unchanged if there is no working folder.
std::string AbsolutePath(const std::string& path);

}  // namespace horizon
