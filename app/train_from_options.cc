#include "app/train_from_options.h"

#include <cstdlib>
#include <string>
#include <utility>

#include "app/device_option.h"
#include "app/exit_code.h"
#include "app/this_machine.h"
#include "common/signal_flag.h"
#include "common/status_macros.h"
#include "common/str_cat.h"
#include "model/load_model_spec.h"
#include "training/begin_training.h"
#include "training/finish_training.h"
#include "training/prepare_training.h"
#include "training/train_steps.h"

namespace horizon {
namespace {

// What the plan is made from: what was measured of this machine, unless a profile is named.
absl::StatusOr<HardwareProfile> MachineFor(const CommandContext& context,
                                           const TrainOptions& options,
                                           const ChosenDevice& device) {
  ASSIGN_OR_RETURN(HardwareProfile profile,
                   ProfileForRun(context, device, "--machine", options.machine));
  if (profile.device.kind == device.name.kind) return profile;
  const bool on_cuda = device.name.kind == DeviceKind::kCuda;
  return absl::InvalidArgumentError(
      StrCat("--machine ", *options.machine, on_cuda ? " has no GPU" : " has a GPU",
             "; training runs on device ", ToString(device.name),
             ": name a machine like it, another --device, or leave --machine out"));
}

TrainingContext ContextFor(const CommandContext& context, const TrainOptions& options,
                           const ChosenDevice& device) {
  return {.io = context.io,
          .clock = context.clock,
          .log = context.log,
          .machine = [&] { return MachineFor(context, options, device); },
          .on_stall =
              [&](const absl::Status& status) {
                // Nothing can end the lane that hangs, so all ends here.
                context.log.Error(std::string(status.message()));
                std::_Exit(static_cast<int>(ExitCode::kWatchdog));
              }};
}

absl::Status Write(const CommandContext& context, const TrainOptions& options,
                   const TrainingAnswer& answer) {
  return context.output.Write(options.json ? answer.json : answer.text);
}

}  // namespace

absl::Status TrainFromOptions(const CommandContext& context, const TrainOptions& options) {
  ASSIGN_OR_RETURN(const LoadedModel model, LoadModel(context.io, options.model));
  ASSIGN_OR_RETURN(const ChosenDevice device, ChooseDevice(context, options.device));
  ASSIGN_OR_RETURN(const TrainingSettings settings,
                   options.ToSettings(context, model.config.spec, device.name));
  const TrainingContext training = ContextFor(context, options, device);
  ASSIGN_OR_RETURN(PreparedTraining prepared, PrepareTraining(training, settings, model));
  if (prepared.complete()) {
    ASSIGN_OR_RETURN(const TrainingAnswer answer,
                     FinishComplete(training, settings, model, std::move(prepared)));
    return Write(context, options, answer);
  }
  ASSIGN_OR_RETURN(BegunTraining begun,
                   BeginTraining(training, settings, model, std::move(prepared)));
  // Until here a signal ends the program at once: there is nothing yet to be saved.
  StopSignals signals;
  ASSIGN_OR_RETURN(const TrainedSteps trained,
                   TrainSteps(training, settings, begun, [&] { return signals.requested(); }));
  ASSIGN_OR_RETURN(const FinishedTraining finished,
                   FinishTraining(training, settings, model, begun, trained));
  if (finished.answer.has_value()) RETURN_IF_ERROR(Write(context, options, *finished.answer));
  return finished.status;
}

}  // namespace horizon
