#pragma once

#include <cstdint>
#include <string>

#include "app/command.h"
#include "common/progress.h"

namespace horizon {

// Shows the progress of a command's long work: on a terminal as a line that is redrawn, elsewhere
// as a log message now and then. `what` names the work, `total` is its size in any unit. The clock
// and the log of `context` outlive the result.
Progress ShowProgress(const CommandContext& context, std::string what, uint64_t total);

}  // namespace horizon
