#pragma once

#include <string>

namespace horizon {

// The pieces of PosixIo::RenameNoReplace, apart so that the fall-back is tested on machines that
// never need it. Both return 0 or an errno (EEXIST when `to` is there) and never replace content.

// renameat2(RENAME_NOREPLACE): atomic. ENOSYS or EINVAL where kernel or file system lack it.
int RenameNoReplaceAtomically(const std::string& from, const std::string& to);

// For all others. A file gets its second name by link(2), which refuses an existing one, and then
// loses its first: a crash in between leaves both. A directory is renamed after a look: if `to`
// appears in between, rename(2) itself refuses all but an empty directory.
int RenameNoReplaceByLink(const std::string& from, const std::string& to);

}  // namespace horizon
