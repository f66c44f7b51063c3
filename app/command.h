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

namespace horizon {

class Command;
using CommandList = std::vector<std::unique_ptr<Command>>;

// What the environment says of the terminal, if there is one.
struct TerminalTraits {
  bool utf8 = false;  // the locale's letters are UTF-8
  bool dumb = false;  // it can do nothing but print
};

// What a command may use, built by main and passed down. Owns nothing.
struct CommandContext {
  Io& io;
  Clock& clock;
  Log& log;
  Output& output;
  const CommandList& commands;
  // Where what can be made again is kept for this user; empty when there is no such place.
  std::string cache_folder;
  TerminalTraits terminal;
};

// One subcommand of the program: `horizon NAME ...`. It lives in a file of its own; adding one is
// that file, its factory in commands.h and a line in commands.cc. An object serves one command
// line.
class Command {
 public:
  virtual ~Command() = default;
  virtual std::string_view name() const = 0;
  // One line for the list of commands, without a full stop.
  virtual std::string_view summary() const = 0;
  // More for `horizon help NAME`, in lines of at most 100 columns; may be empty.
  virtual std::string_view details() const { return ""; }
  // The options and arguments, bound to members of this object; the members' values are the
  // defaults. --help and --log-level are every command's and not listed here.
  virtual OptionList Options() = 0;
  // Does the work after the options were read: answers on context.output, reports on context.log.
  // The Status becomes the exit code (exit_code.h).
  virtual absl::Status Run(const CommandContext& context) = 0;
};

}  // namespace horizon
