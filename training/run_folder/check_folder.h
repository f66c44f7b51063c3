#pragma once

#include "absl/status/status.h"
#include "common/files/io.h"
#include "common/files/posix_open_folder.h"

namespace horizon {

// Checks whether somebody deleted, moved or emptied a run folder while the run goes on. Everything
// written there would be lost, so the run ends at the next step instead of hours later at its end.
//
// OK if `folder` is still at its path and holds job.json, which every run has. Otherwise an I/O
// error (errno ESTALE) that says what happened, such as where the folder is now. It costs a few
// system calls.
absl::Status CheckRunFolder(Io& io, const OpenFolder& folder);

}  // namespace horizon
