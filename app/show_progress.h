#pragma once

#include <cstdint>
#include <string>

#include "app/command.h"
#include "common/progress.h"

namespace horizon {

// How far long work of a command is, shown beside its log: a line that is redrawn on a terminal,
// messages of the log now and then elsewhere. `context` outlives it.
Progress ShowProgress(const CommandContext& context, std::string what, uint64_t total);

}  // namespace horizon
