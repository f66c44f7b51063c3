#include "app/help.h"

#include <algorithm>
#include <vector>

#include "app/options/explain_options.h"
#include "common/text/nearest_word.h"
#include "common/text/str_cat.h"
#include "common/text/wrap.h"

namespace horizon {
namespace {

constexpr std::string_view kPurpose =
    "horizon trains language models far larger than the accelerator's memory on one machine.\n";

constexpr std::string_view kForAllCommands =
    "'horizon help COMMAND' or 'horizon COMMAND -h' explains a command. Answers go to standard "
    "output, messages to standard error. NO_COLOR=1 in the environment turns colours off.\n\n"
    "Exit codes: 0 done, 1 other failure, 2 misuse or bad configuration, 3 does not fit, 4 corrupt "
    "input, 5 device, 6 input or output, 7 not finite, 8 took too long, 75 stopped and saved.\n";

struct GroupHeading {
  CommandGroup group;
  std::string_view heading;
};
constexpr GroupHeading kGroups[] = {{CommandGroup::kPlan, "Plan"},
                                    {CommandGroup::kTrain, "Train and use models"},
                                    {CommandGroup::kLook, "Look at a run"},
                                    {CommandGroup::kTools, "Tools"}};

// Shorter lines cannot be wrapped well, longer ones not be read well.
size_t LineWidth(int columns) { return static_cast<size_t>(std::clamp(columns, 40, 120)); }

}  // namespace

OptionList GlobalOptions::AfterCommand() {
  OptionList list{.options = {{.name = "log-level",
                               .value = &log_level,
                               .unit = "level",
                               .help = "Least important messages to show on standard error",
                               .choices = {"debug", "info", "warning", "error"}},
                              {.name = "help",
                               .value = &help,
                               .help = "Show this help",
                               .answers_alone = true,
                               .letter = 'h'}}};
  SetGroup(list, 0, "General");
  return list;
}

OptionList GlobalOptions::BeforeCommand() {
  OptionList list = AfterCommand();
  list.options.push_back(
      {.name = "version", .value = &version, .help = "Show the version", .answers_alone = true});
  SetGroup(list, 0, "");
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

std::string Overview(const CommandList& commands, int columns) {
  const size_t width = LineWidth(columns);
  size_t longest = 0;
  for (const auto& command : commands) longest = std::max(longest, command->name().size());
  std::string text = WrapParagraphs(kPurpose, width);
  text += "\nUsage: horizon [--log-level LEVEL] COMMAND ...\n\n";
  for (const GroupHeading& group : kGroups) {
    std::string rows;
    for (const auto& command : commands) {
      if (command->group() != group.group) continue;
      const std::string gap(longest - command->name().size() + 2, ' ');
      rows += WrapParagraphs(StrCat("  ", command->name(), gap, command->summary()), width);
    }
    if (!rows.empty()) text += StrCat(group.heading, ":\n", rows, "\n");
  }
  GlobalOptions global;
  return StrCat(text, ExplainOptions(global.BeforeCommand(), width), "\n",
                WrapParagraphs(kForAllCommands, width));
}

std::string ExplainCommand(Command& command, int columns) {
  const size_t width = LineWidth(columns);
  GlobalOptions global;
  OptionList all = command.Options();
  const std::string usage = UsageOf(command.name(), all, width);
  const OptionList common = global.AfterCommand();
  all.options.insert(all.options.end(), common.options.begin(), common.options.end());
  std::string text =
      StrCat(WrapParagraphs(StrCat(command.summary(), "."), width), "\n", usage, "\n\n");
  if (!command.details().empty()) {
    text += StrCat(WrapParagraphs(command.details(), width), "\n");
  }
  return text + ExplainOptions(all, width);
}

}  // namespace horizon
