#include "app/program.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <variant>

#include "absl/status/status.h"
#include "app/help.h"
#include "app/options/command_line.h"
#include "app/options/config_file.h"
#include "app/version.h"
#include "common/check.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

// Empties the options of a file that the command line says in another way (Option::instead_of).
absl::Status EmptyReplaced(const OptionList& all, std::span<const std::string> words) {
  for (const Option& option : all.options) {
    if (option.instead_of.empty()) continue;
    ASSIGN_OR_RETURN(const std::optional<std::string> given, PeekOption(all, option.name, words));
    if (!given.has_value()) continue;
    const auto other = std::find_if(all.options.begin(), all.options.end(), [&](const Option& one) {
      return one.name == option.instead_of;
    });
    CHECK(other != all.options.end());
    std::visit(
        [](auto* target) {
          if constexpr (requires { target->reset(); }) target->reset();
        },
        other->value);
  }
  return absl::OkStatus();
}

// Reads the words behind the command into its options and `common`. A file named with --config
// comes first, so that the words win.
absl::Status ReadOptions(Io& io, Command& command, const OptionList& common,
                         std::span<const std::string> words) {
  OptionList all = command.Options();
  const size_t own = all.options.size();
  all.options.insert(all.options.end(), common.options.begin(), common.options.end());
  ASSIGN_OR_RETURN(const std::optional<std::string> file, PeekOption(all, kConfigOption, words));
  if (file.has_value()) {
    RETURN_IF_ERROR(ReadConfigFile(io, *file, std::span(all.options).first(own)));
    RETURN_IF_ERROR(EmptyReplaced(all, words));
  }
  return ParseArguments(all, words);
}

// Reads the command line into `global` and the options of the command it names, which is returned;
// nullptr when it names none.
absl::StatusOr<Command*> ReadCommandLine(Io& io, std::span<const std::string> arguments,
                                         const CommandList& commands, GlobalOptions& global) {
  const OptionList before = global.BeforeCommand();
  const size_t leading = CountLeadingOptions(before, arguments);
  RETURN_IF_ERROR(ParseArguments(before, arguments.first(leading)));
  if (leading == arguments.size() || global.version) return nullptr;
  ASSIGN_OR_RETURN(Command* const command, FindCommand(commands, arguments[leading]));
  if (global.help) return command;
  const absl::Status status =
      ReadOptions(io, *command, global.AfterCommand(), arguments.subspan(leading + 1));
  if (absl::IsInvalidArgument(status)) {
    const std::string message(status.message());
    // A message that ends in "did you mean ...?" says enough.
    return absl::InvalidArgumentError(
        message.ends_with('?') ? message
                               : StrCat(message, "; see 'horizon help ", command->name(), "'"));
  }
  RETURN_IF_ERROR(status);
  return command;
}

absl::Status RunCommand(Command* command, const GlobalOptions& global,
                        const CommandContext& context) {
  if (global.version) return context.output.Write(StrCat("horizon ", kVersion, "\n"));
  if (command == nullptr)
    return context.output.Write(Overview(context.commands, context.terminal.columns));
  if (global.help) return context.output.Write(ExplainCommand(*command, context.terminal.columns));
  return command->Run(context);
}

}  // namespace

ExitCode RunProgram(std::span<const std::string> arguments, const CommandList& commands,
                    const ProgramWorld& world) {
  GlobalOptions global;
  const absl::StatusOr<Command*> command = ReadCommandLine(world.io, arguments, commands, global);
  // A bad level is itself the error reported, and errors show at every level.
  Log log(world.errors, ParseLogLevel(global.log_level).value_or(LogLevel::kInfo), world.log_style);
  const absl::Status status = command.ok()
                                  ? RunCommand(*command, global,
                                               CommandContext{.io = world.io,
                                                              .clock = world.clock,
                                                              .log = log,
                                                              .output = world.output,
                                                              .commands = commands,
                                                              .cache_folder = world.cache_folder,
                                                              .terminal = world.terminal})
                                  : command.status();
  if (!status.ok() && IoErrno(status) != EPIPE) {
    const absl::string_view message = status.message();
    log.Error(std::string_view(message.data(), message.size()));
  }
  return ExitCodeOf(status);
}

}  // namespace horizon
