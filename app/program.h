#pragma once

#include <cstdio>
#include <span>
#include <string>

#include "app/command.h"
#include "app/exit_code.h"
#include "app/output.h"
#include "common/clock.h"
#include "common/files/io.h"
#include "common/log.h"

namespace horizon {

// Everything of the outside world that the program uses. Owns nothing.
struct ProgramWorld {
  Io& io;
  Clock& clock;
  Output& output;
  std::FILE* errors;         // receives messages of the level that the command line sets
  LogStyle log_style;        // of the messages
  std::string cache_folder;  // see CommandContext
  TerminalTraits terminal;
};

// The whole program, apart from its process: reads `arguments` (without the program's name), runs
// the command of `commands` that they name, and reports an error in one message. Without a command
// it prints the overview. An output pipe that the reader has closed is reported by the exit code
// only.
ExitCode RunProgram(std::span<const std::string> arguments, const CommandList& commands,
                    const ProgramWorld& world);

}  // namespace horizon
