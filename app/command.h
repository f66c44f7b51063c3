#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "app/options/option.h"
#include "app/output.h"
#include "common/clock.h"
#include "common/files/io.h"
#include "common/log.h"
#include "common/text/wrap.h"

namespace horizon {

class Command;
using CommandList = std::vector<std::unique_ptr<Command>>;

// What the environment says about the terminal, if there is one.
struct TerminalTraits {
  bool utf8 = false;  // the locale's encoding is UTF-8
  bool dumb = false;  // it can only print: no cursor movement, no colours
  int columns = 80;   // of a line
};

// Everything a command may use. main builds it and passes it down. Owns nothing.
struct CommandContext {
  Io& io;
  Clock& clock;
  Log& log;
  Output& output;
  const CommandList& commands;
  // The user's folder for data that can be made again (profiles, tokenised data); empty if there is
  // none.
  std::string cache_folder;
  TerminalTraits terminal;

  // How wide the lines of an answer may be: as the terminal. A file or another program gets them as
  // they are (kAnyWidth, common/text/wrap.h).
  size_t answer_columns() const {
    return output.on_terminal() ? static_cast<size_t>(terminal.columns) : kAnyWidth;
  }
};

// Where a command stands in the list of commands.
enum class CommandGroup { kPlan, kTrain, kLook, kTools };

// One subcommand of the program: `horizon NAME ...`. To add one, write its file, declare its
// factory in commands.h and add a line to commands.cc. An object serves one command line.
class Command {
 public:
  virtual ~Command() = default;
  virtual std::string_view name() const = 0;
  // One line for the list of commands, without a full stop.
  virtual std::string_view summary() const = 0;
  virtual CommandGroup group() const { return CommandGroup::kTools; }
  // More for `horizon help NAME`, as WrapParagraphs takes it (common/text/wrap.h); may be empty.
  virtual std::string_view details() const { return ""; }
  // The options and arguments, bound to members of this object; the members' values are the
  // defaults. --help and --log-level belong to every command and are not listed here.
  virtual OptionList Options() = 0;
  // Does the work, after the options were read. The answer goes to context.output, messages go to
  // context.log. The Status becomes the exit code (exit_code.h).
  virtual absl::Status Run(const CommandContext& context) = 0;
};

}  // namespace horizon
