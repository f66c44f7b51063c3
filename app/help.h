#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "app/command.h"
#include "app/options/option.h"

namespace horizon {

// What is the same for every command. --version is understood before a command only.
struct GlobalOptions {
  bool help = false;
  bool version = false;
  std::string log_level = "info";

  // The options that stand before the command, and those that may also follow it.
  OptionList BeforeCommand();
  OptionList AfterCommand();
};

// The command of that name; InvalidArgument with the nearest known name otherwise.
absl::StatusOr<Command*> FindCommand(const CommandList& commands, std::string_view name);

// `horizon help`: what the program is, its commands and what holds for all of them.
std::string Overview(const CommandList& commands);

// `horizon help NAME`: usage, arguments, and every option with unit, default and meaning.
std::string ExplainCommand(Command& command);

}  // namespace horizon
