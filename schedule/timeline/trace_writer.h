#pragma once

#include <string>

#include "absl/status/status.h"
#include "common/files/io.h"
#include "schedule/schedule.h"
#include "schedule/timeline/timeline.h"

namespace horizon {

// Writes a timeline in the trace-event format that Perfetto (ui.perfetto.dev) and chrome://tracing
// open: one row for each lane, an arrow for each wait, a counter for each memory. Times are in
// microseconds. `title` is shown as the name of the process. The file is written in pieces of at
// most 1 MiB under a temporary name and renamed when it is complete, so `path` never holds a part
// of a trace. Errors are those of Io.
absl::Status WriteTrace(const Schedule& schedule, const Timeline& timeline,
                        const std::string& title, Io& io, const std::string& path);

}  // namespace horizon
