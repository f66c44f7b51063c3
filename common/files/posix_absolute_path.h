#pragma once

#include <string>

namespace horizon {

// `path` from the root, for what is kept in a file and read by a process that was started in
// another folder. Nothing is looked up: links stay as they are, and the file need not be there.
std::string AbsolutePath(const std::string& path);

}  // namespace horizon
