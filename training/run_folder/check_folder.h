#pragma once

#include "absl/status/status.h"
#include "common/files/io.h"
#include "common/files/posix_open_folder.h"

namespace horizon {

// Whether somebody has deleted, moved or emptied a run folder while the run went on. What is
// written there is lost then, so the run ends at the next step instead of at its end, hours later.
//
// OK while `folder` is at its path and holds job.json, which every run has. Else an I/O error
// (errno ESTALE) that says what happened, such as where the folder is now. A few system calls.
absl::Status CheckRunFolder(Io& io, const OpenFolder& folder);

}  // namespace horizon
