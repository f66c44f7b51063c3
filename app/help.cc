#include "app/help.h"

#include <algorithm>
#include <vector>

#include "app/options/command_line.h"
#include "common/text/nearest_word.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr std::string_view kPurpose =
    "horizon trains language models far larger than the accelerator's memory on one machine.\n";

constexpr std::string_view kExitCodes =
    "Exit codes: 0 done, 1 other failure, 2 misuse or bad configuration, 3 does not fit, 4 "
    "corrupt\n"
    "input, 5 device, 6 input or output, 7 not finite, 8 took too long, 75 stopped and saved.\n";

}  // namespace

OptionList GlobalOptions::AfterCommand() {
  return {.options = {{.name = "log-level",
                       .value = &log_level,
                       .unit = "level",
                       .help = "Least important messages to show on standard error",
                       .choices = {"debug", "info", "warning", "error"}},
                      {.name = "help",
                       .value = &help,
                       .help = "Explain instead of doing anything",
                       .answers_alone = true}}};
}

OptionList GlobalOptions::BeforeCommand() {
  OptionList list = AfterCommand();
  list.options.push_back(
      {.name = "version", .value = &version, .help = "Print the version", .answers_alone = true});
  return list;
}

absl::StatusOr<Command*> FindCommand(const CommandList& commands, std::string_view name) {
  std::vector<std::string> known;
  for (const auto& command : commands) {
    if (command->name() == name) return command.get();
    known.emplace_back(command->name());
  }
  const std::string suggestion = DidYouMean(name, known);
  return absl::InvalidArgumentError(
      StrCat("unknown command '", name, "'",
             suggestion.empty() ? "; 'horizon help' lists the commands" : suggestion));
}

std::string Overview(const CommandList& commands) {
  size_t width = 0;
  for (const auto& command : commands) width = std::max(width, command->name().size());
  std::string text(kPurpose);
  text += "\nUsage: horizon [--log-level LEVEL] COMMAND ...\n\nCommands:\n";
  for (const auto& command : commands) {
    const std::string gap(width - command->name().size() + 2, ' ');
    text += StrCat("  ", command->name(), gap, command->summary(), "\n");
  }
  GlobalOptions global;
  text +=
      StrCat("\n", ExplainOptions(global.BeforeCommand()), "\n",
             "'horizon help COMMAND' explains a command. Answers go to standard output, messages\n"
             "to standard error; NO_COLOR=1 in the environment turns colours off.\n",
             kExitCodes);
  return text;
}

std::string ExplainCommand(Command& command) {
  GlobalOptions global;
  OptionList all = command.Options();
  const std::string usage = UsageOf(command.name(), all);
  const OptionList common = global.AfterCommand();
  all.options.insert(all.options.end(), common.options.begin(), common.options.end());
  std::string text = StrCat(command.summary(), ".\n\n", usage, "\n\n");
  if (!command.details().empty()) text += StrCat(command.details(), "\n");
  return text + ExplainOptions(all);
}

}  // namespace horizon
