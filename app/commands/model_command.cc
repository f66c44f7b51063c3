#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_join.h"
#include "app/commands/commands.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "model/load_model_spec.h"
#include "model/model_report.h"
#include "model/stage_work.h"

namespace horizon {
namespace {

// Long enough for attention to show, short enough that every model we know was trained on it.
constexpr int64_t kUsualSequence = 4096;

class ModelCommand : public Command {
 public:
  std::string_view name() const override { return "model"; }
  std::string_view summary() const override {
    return "Show a model's stages, parameters, flops and activation memory";
  }
  std::string_view details() const override {
    return "A model is a name of the catalog ('horizon models' lists them), a folder with a\n"
           "config.json as Hugging Face writes it, such a file, or a Hugging Face id that the\n"
           "catalog has.\n";
  }
  OptionList Options() override {
    return {
        .options = {{.name = "batch",
                     .value = &batch_,
                     .unit = "sequences",
                     .help = "Sequences that go through the model at once",
                     .minimum = 1},
                    {.name = "sequence",
                     .value = &sequence_,
                     .unit = "tokens",
                     .help = StrCat("Length of each sequence; if not given ", kUsualSequence,
                                    ", or what the model was made for if that is less"),
                     .minimum = 1},
                    {.name = "json", .value = &json_, .help = "Answer in JSON"}},
        .positionals = {{.name = "PATH_OR_NAME",
                         .value = &path_or_name_,
                         .help = "Catalog name, Hugging Face id, model folder or config.json"}}};
  }

  absl::Status Run(const CommandContext& context) override {
    ASSIGN_OR_RETURN(const ModelConfig config, LoadModelSpec(context.io, path_or_name_));
    if (!config.ignored_keys.empty()) {
      context.log.Warning(StrCat(path_or_name_, ": keys unknown here and not read: ",
                                 absl::StrJoin(config.ignored_keys, ", ")));
    }
    const ModelSpec& spec = config.spec;
    const TokenBatch tokens{
        .batch = batch_,
        .sequence = sequence_.value_or(std::clamp<int64_t>(spec.max_positions, 1, kUsualSequence))};
    RETURN_IF_ERROR(ValidateTokens(tokens));
    return context.output.Write(json_ ? ModelReportJson(spec, tokens)
                                      : ModelReportText(spec, tokens));
  }

 private:
  std::string path_or_name_;
  int64_t batch_ = 1;
  std::optional<int64_t> sequence_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeModelCommand() { return std::make_unique<ModelCommand>(); }

}  // namespace horizon
