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

namespace {

// As the XDG base directory specification has it.
std::string CacheFolder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return std::string(cache) + "/horizon";
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return std::string(home) + "/.cache/horizon";
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  horizon::ReserveStandardStreams();
  const std::unique_ptr<horizon::Io> io = horizon::MakePosixIo();
  const std::unique_ptr<horizon::Output> output =
      horizon::MakeStandardOutput(std::getenv("NO_COLOR"));
  horizon::RealClock clock;
  const horizon::CommandList commands = horizon::MakeCommands();
  const horizon::ProgramWorld world{
      .io = *io,
      .clock = clock,
      .output = *output,
      .errors = stderr,
      .log_style = horizon::LogStyleFor(stderr, std::getenv("NO_COLOR")),
      .cache_folder = CacheFolder()};
  // argc is 0 when a caller passes no name for the program.
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return static_cast<int>(horizon::RunProgram(arguments, commands, world));
}
