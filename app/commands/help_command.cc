#include <optional>
#include <string>

#include "app/commands/commands.h"
#include "app/help.h"
#include "common/status_macros.h"

namespace horizon {
namespace {

class HelpCommand : public Command {
 public:
  std::string_view name() const override { return "help"; }
  std::string_view summary() const override { return "List the commands, or explain one"; }
  OptionList Options() override {
    return {.positionals = {{.name = "COMMAND",
                             .value = &command_,
                             .help = "Command to explain",
                             .words = WordKind::kCommand}}};
  }

  absl::Status Run(const CommandContext& context) override {
    if (!command_.has_value())
      return context.output.Write(Overview(context.commands, context.terminal.columns));
    ASSIGN_OR_RETURN(Command * command, FindCommand(context.commands, *command_));
    return context.output.Write(ExplainCommand(*command, context.terminal.columns));
  }

 private:
  std::optional<std::string> command_;
};

}  // namespace

std::unique_ptr<Command> MakeHelpCommand() { return std::make_unique<HelpCommand>(); }

}  // namespace horizon
