#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/commands/commands.h"
#include "app/commands/train_from_options.h"
#include "app/options/train_options.h"
#include "common/signal_flag.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "experiments/arithmetic_stories.h"
#include "training/run_folder/start_files.h"

namespace horizon {
namespace {

// About ten million parameters over bytes: small enough for a minute on two cores, large enough
// that its layers stream through an arena smaller than the model.
constexpr std::string_view kConfig = R"({
  "architectures": ["LlamaForCausalLM"],
  "model_type": "llama",
  "hidden_size": 320,
  "intermediate_size": 864,
  "num_hidden_layers": 8,
  "num_attention_heads": 5,
  "num_key_value_heads": 5,
  "head_dim": 64,
  "vocab_size": 259,
  "max_position_embeddings": 512,
  "rms_norm_eps": 1e-05,
  "rope_theta": 10000.0,
  "hidden_act": "silu",
  "initializer_range": 0.02,
  "tie_word_embeddings": false,
  "attention_bias": false,
  "mlp_bias": false,
  "torch_dtype": "bfloat16"
}
)";

class DemoCommand : public Command {
 public:
  std::string_view name() const override { return "demo"; }
  CommandGroup group() const override { return CommandGroup::kTrain; }
  std::string_view summary() const override {
    return "Train a small model from scratch for about a minute, to see it work";
  }
  std::string_view details() const override {
    return "Generates arithmetic word problems, trains a model of about ten million parameters on "
           "their bytes while streaming its layers through a small arena, and shows what was "
           "predicted and what was measured. All files are in the output folder.";
  }
  OptionList Options() override {
    return {.options = {{.name = "output",
                         .value = &output_,
                         .unit = "folder",
                         .help = "New folder for data, model, metrics and timeline"},
                        {.name = "steps",
                         .value = &steps_,
                         .unit = "steps",
                         .help = "Number of training steps",
                         .minimum = 1,
                         .maximum = 1'000'000},
                        {.name = "json", .value = &json_, .help = "Answer in JSON"}}};
  }

  absl::Status Run(const CommandContext& context) override {
    StopSignals signals(EndBeforeTraining(context));
    ASSIGN_OR_RETURN(const bool is_free, IsFree(context.io));
    if (!is_free) {
      return absl::InvalidArgumentError(StrCat("the folder ", output_,
                                               " is there already; remove it or name another with "
                                               "--output"));
    }
    TrainOptions train;
    train.model = output_ + "/config.json";
    train.init = "random";
    const std::string data = output_ + "/stories.jsonl";
    train.data.paths = {data};
    train.output = output_ + "/run";
    train.job.values.steps = steps_;
    train.job.sequence = 192;
    train.job.values.micro_batch = 5;
    train.job.values.learning_rate = 3e-3;
    train.job.values.learning_rate_schedule = LearningRateSchedule::kCosine;
    train.job.values.warmup_steps = std::min<int64_t>(5, steps_ / 4);
    train.job.values.beta2 = 0.98;
    train.device = "host";  // the same numbers on every machine
    train.device_memory = 128_MiB;
    train.data.reading.tokenizer = "byte";
    train.data.reading.train_on_prompt = true;
    train.data.reading.cache = output_ + "/tokens";
    train.json = json_;
    const absl::Status made = context.io.MakeDirectory(output_);
    if (!absl::IsAlreadyExists(made)) RETURN_IF_ERROR(made);
    RETURN_IF_ERROR(WriteTextFile(context.io, train.model, std::string(kConfig)));
    // A row has one problem or two.
    const StoryFile stories{.problems = 2 * steps_ * train.job.values.micro_batch};
    RETURN_IF_ERROR(WriteStoryFile(context.io, data, stories));
    context.log.Info(StrCat("wrote ", stories.problems,
                            " word problems such as: ", MakeStoryProblem(0, 0).question));
    return TrainFromOptions(context, train, signals);
  }

 private:
  // Whether the folder is missing, or a demo that failed before its first step left it.
  absl::StatusOr<bool> IsFree(Io& io) const {
    const absl::StatusOr<std::vector<std::string>> names = io.List(output_);
    if (absl::IsNotFound(names.status()) && !io.Info(output_).ok()) return true;
    const absl::StatusOr<std::string> config = ReadTextFile(io, output_ + "/config.json");
    if (!names.ok() || !config.ok() || *config != kConfig) return false;
    for (const std::string& name : *names) {
      if (name == "run") continue;
      if (name != "config.json" && name != "stories.jsonl" && name != "tokens") return false;
    }
    return HoldsNoRun(io, output_ + "/run");
  }

  std::string output_ = "horizon-demo";
  int64_t steps_ = 80;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeDemoCommand() { return std::make_unique<DemoCommand>(); }

}  // namespace horizon
