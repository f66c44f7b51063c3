#include "app/commands/commands.h"
#include "app/version.h"
#include "common/documents/json.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

class VersionCommand : public Command {
 public:
  std::string_view name() const override { return "version"; }
  std::string_view summary() const override { return "Show the version of this program"; }
  OptionList Options() override {
    return {.options = {{.name = "json", .value = &json_, .help = "Answer in JSON"}}};
  }

  absl::Status Run(const CommandContext& context) override {
    if (!json_) return context.output.Write(StrCat("horizon ", kVersion, "\n"));
    JsonWriter json;
    json.BeginObject().Key("version").String(kVersion).EndObject();
    return context.output.Write(std::move(json).Finish());
  }

 private:
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeVersionCommand() { return std::make_unique<VersionCommand>(); }

}  // namespace horizon
