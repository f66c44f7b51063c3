#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "app/command.h"
#include "app/options/option.h"

namespace horizon {

// The options that all commands share, and the texts of `horizon help`.

// The shared options. --version is accepted before a command only.
struct GlobalOptions {
  bool help = false;
  bool version = false;
  std::string log_level = "info";

  // The options that may be given before the command, and those that may also follow it.
  OptionList BeforeCommand();
  OptionList AfterCommand();
};

// The command of that name; InvalidArgument with the nearest known name otherwise.
absl::StatusOr<Command*> FindCommand(const CommandList& commands, std::string_view name);

// The text of `horizon help`: what the program is, its commands in groups, and what applies to all
// of them. `columns` is the width of the terminal, of which lines use 40 to 120.
std::string Overview(const CommandList& commands, int columns);

// The text of `horizon help NAME`: usage, what it does, arguments, and every option with unit,
// default and meaning.
std::string ExplainCommand(Command& command, int columns);

}  // namespace horizon
