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

// The world a program runs in. Owns nothing.
struct ProgramWorld {
  Io& io;
  Clock& clock;
  Output& output;
  std::FILE* errors;         // messages, with the level the command line asks for
  LogStyle log_style;        // how they look there
  std::string cache_folder;  // see CommandContext
  TerminalTraits terminal;
};

// The whole program but its process: reads `arguments` (without the program's name), runs the
// command they name out of `commands`, reports an error in one message. No command at all gives the
// overview. A reader that closed its end of the pipe is told nothing.
ExitCode RunProgram(std::span<const std::string> arguments, const CommandList& commands,
                    const ProgramWorld& world);

}  // namespace horizon
