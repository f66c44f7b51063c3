#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "app/commands/commands.h"
#include "app/output.h"
#include "app/program.h"
#include "common/clock.h"
#include "common/files/io.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/signal_flag.h"
#include "report/terminal/screen.h"

namespace {

// As the XDG base directory specification has it.
std::string CacheFolder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return std::string(cache) + "/horizon";
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return std::string(home) + "/.cache/horizon";
  return "";
}

// As shells and most programs have it: COLUMNS wins, then the terminal's own size, else 80.
int Columns() {
  const char* columns = std::getenv("COLUMNS");
  int given = 0;
  if (columns != nullptr && absl::SimpleAtoi(columns, &given) && given > 0) return given;
  return horizon::OutputSize().columns;
}

// As POSIX has it: the first of these that is set and not empty names the locale.
horizon::TerminalTraits Terminal() {
  horizon::TerminalTraits traits;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* locale = std::getenv(name);
    if (locale == nullptr || locale[0] == '\0') continue;
    std::string letters;
    for (const char* at = locale; *at != '\0'; ++at) {
      if (*at != '-') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(*at)));
    }
    traits.utf8 = letters.find("utf8") != std::string::npos;
    break;
  }
  const char* term = std::getenv("TERM");
  traits.columns = Columns();
  traits.dumb = term == nullptr || term[0] == '\0' || std::string(term) == "dumb";
  return traits;
}

// Plain lines, without colours and without a line that is redrawn, where a person or a program
// asked for that.
horizon::LogStyle StyleOfMessages(const horizon::TerminalTraits& terminal) {
  const char* no_color = std::getenv("NO_COLOR");
  const bool plain = terminal.dumb || (no_color != nullptr && no_color[0] != '\0');
  return plain ? horizon::LogStyle::kPlain : horizon::LogStyleFor(stderr, no_color);
}

}  // namespace

int main(int argc, char** argv) {
  horizon::IgnoreWriteSignals();
  horizon::ReserveStandardStreams();
  horizon::KeepHeapSmall();
  // OpenBLAS starts threads when it is loaded (kernels/gemm/blas.cc), which we would not use, and
  // which keep the process from ending where a limit on address space stops their first allocation.
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  const horizon::TerminalTraits terminal = Terminal();
  const std::unique_ptr<horizon::Io> io = horizon::MakePosixIo();
  const std::unique_ptr<horizon::Output> output =
      horizon::MakeStandardOutput(std::getenv("NO_COLOR"));
  horizon::RealClock clock;
  const horizon::CommandList commands = horizon::MakeCommands();
  const horizon::ProgramWorld world{.io = *io,
                                    .clock = clock,
                                    .output = *output,
                                    .errors = stderr,
                                    .log_style = StyleOfMessages(terminal),
                                    .cache_folder = CacheFolder(),
                                    .terminal = terminal};
  // argc is 0 when a caller passes no name for the program.
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return static_cast<int>(horizon::RunProgram(arguments, commands, world));
}
