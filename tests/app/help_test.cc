#include "app/help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "app/commands/commands.h"
#include "app/options/option_text.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;

// Everything a command takes, what holds for all commands included.
OptionList AllOptions(Command& command, GlobalOptions& global) {
  OptionList all = command.Options();
  const OptionList common = global.AfterCommand();
  all.options.insert(all.options.end(), common.options.begin(), common.options.end());
  return all;
}

TEST(Commands, HaveUniqueLowerCaseNamesAndOneLineSummaries) {
  std::set<std::string> names;
  for (const auto& command : MakeCommands()) {
    const std::string name(command->name());
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_THAT(name, ::testing::MatchesRegex("[a-z][a-z-]*"));
    const std::string summary(command->summary());
    EXPECT_THAT(summary, ::testing::MatchesRegex("[A-Z].*[^.]")) << name;
    EXPECT_EQ(summary.find('\n'), std::string::npos) << name;
  }
  for (const char* wanted : {"help", "model", "models", "version"}) {
    EXPECT_TRUE(names.contains(wanted)) << wanted;
  }
}

TEST(Commands, EveryOptionIsNamedOnceWithHelpAndUnit) {
  for (const auto& command : MakeCommands()) {
    GlobalOptions global;
    std::set<std::string> names;
    for (const Option& option : AllOptions(*command, global).options) {
      const std::string where = std::string(command->name()) + " --" + option.name;
      EXPECT_TRUE(names.insert(option.name).second) << where << " is declared twice";
      EXPECT_THAT(option.name, ::testing::MatchesRegex("[a-z][a-z0-9-]*")) << where;
      EXPECT_THAT(option.help, ::testing::MatchesRegex("[A-Z].*[^.]")) << where;
      EXPECT_EQ(option.unit.empty(), IsFlag(option)) << where << ": a value has a unit, a flag not";
    }
  }
}

TEST(Commands, EveryPositionalHasHelpAndOptionalOnesComeLast) {
  for (const auto& command : MakeCommands()) {
    bool optional_seen = false;
    const OptionList list = command->Options();
    for (const Positional& positional : list.positionals) {
      EXPECT_THAT(positional.name, ::testing::MatchesRegex("[A-Z][A-Z_]*")) << command->name();
      EXPECT_FALSE(positional.help.empty()) << command->name();
      const bool optional = !std::holds_alternative<std::string*>(positional.value);
      EXPECT_FALSE(optional_seen && !optional) << command->name();
      optional_seen = optional_seen || optional;
    }
  }
}

TEST(Commands, ThoseThatAnswerTakeJson) {
  for (const auto& command : MakeCommands()) {
    // Their answers are for a person's eyes and for a shell.
    if (command->name() == "help" || command->name() == "completion") continue;
    const OptionList list = command->Options();
    EXPECT_TRUE(std::any_of(list.options.begin(), list.options.end(), [](const Option& option) {
      return option.name == "json" && IsFlag(option);
    })) << command->name();
  }
}

// Every text a person may read in a help.
std::vector<std::string> AllTexts() {
  std::vector<std::string> texts;
  for (const auto& command : MakeCommands()) {
    GlobalOptions global;
    texts.emplace_back(command->summary());
    texts.emplace_back(command->details());
    for (const Option& option : AllOptions(*command, global).options) texts.push_back(option.help);
    for (const Positional& one : command->Options().positionals) texts.push_back(one.help);
  }
  return texts;
}

TEST(Help, HasNoTelegramsAndNothingButAscii) {
  for (const std::string& text : AllTexts()) {
    EXPECT_THAT(text, ::testing::Not(::testing::AnyOf(
                          ::testing::StartsWith("Of "), ::testing::StartsWith("Whose "),
                          HasSubstr("not given:"), HasSubstr("if not given"))));
    EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char letter) {
      return letter == '\n' || (letter >= ' ' && letter <= '~');
    })) << text;
  }
}

std::string WithoutSpaces(std::string text) {
  std::erase_if(text, [](char letter) { return letter == ' ' || letter == '\n'; });
  return text;
}

TEST(Help, ExplainsEveryOptionOfEveryCommand) {
  for (const auto& command : MakeCommands()) {
    const std::string text = ExplainCommand(*command, 80);
    EXPECT_THAT(text, HasSubstr("Usage: horizon " + std::string(command->name())));
    GlobalOptions global;
    for (const Option& option : AllOptions(*command, global).options) {
      EXPECT_THAT(text, ::testing::ContainsRegex("\n  (-h, )?--" + option.name + "[ \n]"))
          << command->name();
      const std::string help = option.help.substr(0, option.help.find(" (default"));
      EXPECT_THAT(WithoutSpaces(text), HasSubstr(WithoutSpaces(help))) << command->name();
    }
    for (const Positional& positional : command->Options().positionals) {
      EXPECT_THAT(WithoutSpaces(text), HasSubstr(WithoutSpaces(positional.help)))
          << command->name();
    }
    EXPECT_THAT(WithoutSpaces(text), HasSubstr(WithoutSpaces(std::string(command->details()))));
  }
}

TEST(Help, FitsTheTerminal) {
  const CommandList commands = MakeCommands();
  for (const int columns : {60, 80, 100, 120}) {
    std::vector<std::string> texts = {Overview(commands, columns)};
    for (const auto& command : commands) texts.push_back(ExplainCommand(*command, columns));
    for (const std::string& text : texts) {
      std::istringstream lines(text);
      for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(line.size(), static_cast<size_t>(columns)) << line;
        EXPECT_FALSE(line.ends_with(' ')) << "'" << line << "'";
      }
    }
  }
  EXPECT_EQ(Overview(commands, 1000), Overview(commands, 120));
  EXPECT_EQ(Overview(commands, 1), Overview(commands, 40));
}

TEST(Help, OverviewListsEveryCommandAndGlobalOption) {
  const CommandList commands = MakeCommands();
  const std::string text = Overview(commands, 120);
  for (const auto& command : commands) {
    EXPECT_THAT(text, HasSubstr("\n  " + std::string(command->name()) + " "));
    EXPECT_THAT(WithoutSpaces(text), HasSubstr(WithoutSpaces(std::string(command->summary()))));
  }
  for (const char* part :
       {"\nPlan:\n", "\nTrain and use models:\n", "\nLook at a run:\n", "\nTools:\n", "-h, --help",
        "--version", "--log-level LEVEL", "default info)", "NO_COLOR", "Exit codes: 0 done"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(FindCommand, SuggestsTheNearestName) {
  const CommandList commands = MakeCommands();
  ASSERT_TRUE(FindCommand(commands, "model").ok());
  EXPECT_EQ((*FindCommand(commands, "model"))->name(), "model");
  EXPECT_EQ((*FindCommand(commands, "models"))->name(), "models");
  const absl::Status status = FindCommand(commands, "modle").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "unknown command 'modle'; did you mean 'model'?");
}

}  // namespace
}  // namespace horizon
