#pragma once

#include <string>

#include "app/command.h"

namespace horizon {

// Completion of the command line in a shell: `source <(horizon completion bash)`, and
// `horizon plan --mo<TAB>` becomes `--model`. The scripts are made from the declarations of the
// commands, so they know every command, option and choice, and the names of machines and models
// that are in the program. Where a value is a file or folder, the shell offers those; where it is
// anything else, nothing.

enum class Shell { kBash, kZsh, kFish };

// The script for a shell, to be sourced.
std::string CompletionScript(Shell shell, const CommandList& commands);

}  // namespace horizon
