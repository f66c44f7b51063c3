#include <memory>
#include <string_view>

#include "app/commands/commands.h"
#include "app/commands/train_from_options.h"
#include "app/options/train_options.h"
#include "common/signal_flag.h"
#include "common/status_macros.h"

namespace horizon {
namespace {

class TrainCommand : public Command {
 public:
  std::string_view name() const override { return "train"; }
  CommandGroup group() const override { return CommandGroup::kTrain; }
  std::string_view summary() const override {
    return "Train a model, streaming it through the device as the plan says";
  }
  std::string_view details() const override {
    return "Measures this machine, makes a plan, refuses what does not fit, and trains. The output "
           "folder gets job.json, plan.json, train.yaml (all options, for resuming), metrics.jsonl "
           "(one line per step), eval.jsonl, routing.jsonl (of a model with experts), "
           "checkpoints/step-N, timeline.json (the last step, for ui.perfetto.dev) and model/, a "
           "Hugging Face folder.\n"
           "\n"
           "Ctrl-C, SIGTERM, SIGUSR1 and a closed terminal (SIGHUP) finish the steps under way, "
           "save them and end with exit code 75. 'horizon train --config OUTPUT/train.yaml "
           "--resume auto' goes on from there, with the bits that the run would have had. A second "
           "signal stops at once.";
  }
  OptionList Options() override {
    OptionList list;
    options_.AddTo(list);
    return list;
  }
  absl::Status Run(const CommandContext& context) override {
    StopSignals signals(EndBeforeTraining(context));
    RETURN_IF_ERROR(options_.FollowMovedRun(context.io));
    return TrainFromOptions(context, options_, signals);
  }

 private:
  TrainOptions options_;
};

}  // namespace

std::unique_ptr<Command> MakeTrainCommand() { return std::make_unique<TrainCommand>(); }

}  // namespace horizon
