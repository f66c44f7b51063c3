#include <memory>
#include <string>
#include <utility>

#include "app/commands/commands.h"
#include "app/completion.h"

namespace horizon {
namespace {

class CompletionCommand : public Command {
 public:
  std::string_view name() const override { return "completion"; }
  std::string_view summary() const override {
    return "Print a script that completes horizon's command line in a shell";
  }
  std::string_view details() const override {
    return "To complete in the present shell, or in every one from the file of the shell that is "
           "named behind it:\n"
           "  bash   source <(horizon completion bash), in ~/.bashrc\n"
           "  zsh    source <(horizon completion zsh), in ~/.zshrc\n"
           "  fish   horizon completion fish | source, in ~/.config/fish/config.fish\n";
  }
  OptionList Options() override {
    return {.positionals = {{.name = "SHELL", .value = &shell_, .help = "bash, zsh or fish"}}};
  }

  absl::Status Run(const CommandContext& context) override {
    for (const auto& [word, shell] :
         {std::pair("bash", Shell::kBash), std::pair("zsh", Shell::kZsh),
          std::pair("fish", Shell::kFish)}) {
      if (shell_ == word) return context.output.Write(CompletionScript(shell, context.commands));
    }
    return absl::InvalidArgumentError("no completion for '" + shell_ +
                                      "'; there is one for bash, zsh and fish");
  }

 private:
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> MakeCompletionCommand() { return std::make_unique<CompletionCommand>(); }

}  // namespace horizon
