#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "app/commands.h"
#include "app/output.h"
#include "app/program.h"
#include "common/clock.h"
#include "common/io.h"
#include "common/log.h"

int main(int argc, char** argv) {
  horizon::ReserveStandardStreams();
  const std::unique_ptr<horizon::Io> io = horizon::MakePosixIo();
  const std::unique_ptr<horizon::Output> output = horizon::MakeStandardOutput();
  horizon::RealClock clock;
  const horizon::CommandList commands = horizon::MakeCommands();
  const horizon::ProgramWorld world{
      .io = *io,
      .clock = clock,
      .output = *output,
      .errors = stderr,
      .log_style = horizon::LogStyleFor(stderr, std::getenv("NO_COLOR"))};
  // argc is 0 when a caller passes no name for the program.
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return static_cast<int>(horizon::RunProgram(arguments, commands, world));
}
