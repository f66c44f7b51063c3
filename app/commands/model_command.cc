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
  CommandGroup group() const override { return CommandGroup::kPlan; }
  std::string_view summary() const override {
    return "Show the stages of a model: parameters, FLOPs and activation memory";
  }
  std::string_view details() const override {
    return "A model is a catalog name ('horizon models' lists them), a Hugging Face id that the "
           "catalog knows, a folder with a Hugging Face config.json, or such a file.";
  }
  OptionList Options() override {
    return {.options = {{.name = "batch",
                         .value = &batch_,
                         .unit = "sequences",
                         .help = "Sequences that go through the model at once",
                         .minimum = 1},
                        {.name = "sequence",
                         .value = &sequence_,
                         .unit = "tokens",
                         .help = "Sequence length in tokens (default 4096, or the model's limit)",
                         .minimum = 1},
                        {.name = "json", .value = &json_, .help = "Answer in JSON"}},
            .positionals = {{.name = "PATH_OR_NAME",
                             .value = &path_or_name_,
                             .help = "Catalog name, Hugging Face id, model folder or config.json",
                             .words = WordKind::kModel}}};
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
    return context.output.Write(json_ ? ModelReportJson(spec, tokens, config.quantization)
                                      : ModelReportText(spec, tokens, config.quantization));
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
