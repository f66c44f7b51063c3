#pragma once

#include <string>

namespace horizon {

// The two ways in which the Io of MakePosixIo() renames without replacing. They are separate
// functions so that tests can run the fall-back on machines that never need it. Both return 0 or an
// errno (EEXIST if `to` exists) and never replace an existing file or non-empty directory.

// renameat2(RENAME_NOREPLACE), which is atomic. ENOSYS or EINVAL if the kernel or the file system
// does not support it.
int RenameNoReplaceAtomically(const std::string& from, const std::string& to);

// The fall-back. A file gets its new name by link(2), which refuses an existing name, and then
// loses the old one by unlink(2); a crash in between leaves both names. A directory is renamed
// after a check that `to` does not exist; if `to` appears after the check, rename(2) itself refuses
// to replace anything but an empty directory.
int RenameNoReplaceByLink(const std::string& from, const std::string& to);

}  // namespace horizon
