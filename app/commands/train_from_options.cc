#include "app/commands/train_from_options.h"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

#include "app/exit_code.h"
#include "app/options/device_option.h"
#include "app/this_machine.h"
#include "common/files/io.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
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
  const absl::Status written = context.output.Write(options.json ? answer.json : answer.text);
  // The run is done and its folder holds the answer too: a reader that went away changes nothing.
  return IoErrno(written) == EPIPE ? absl::OkStatus() : written;
}

}  // namespace

StopSignals::EndAtOnce EndBeforeTraining(const CommandContext& context) {
  return {.before = StrCat(context.log.on_terminal() ? "\r\x1b[K" : "", "error: stopped by "),
          .after = " before the first step: nothing is lost, and the same command begins again",
          .exit_code = static_cast<int>(ExitCode::kPreemptedSaved)};
}

absl::Status TrainFromOptions(const CommandContext& context, const TrainOptions& options,
                              StopSignals& signals) {
  ASSIGN_OR_RETURN(const LoadedModel model,
                   LoadModel(context.io, options.model, options.rope_scaling));
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
  signals.NoteOnly();
  ASSIGN_OR_RETURN(const TrainedSteps trained,
                   TrainSteps(training, settings, begun, [&] { return signals.requested(); }));
  const FinishedTraining finished = FinishTraining(training, settings, model, begun, trained);
  absl::Status written;
  if (finished.answer.has_value()) written = Write(context, options, *finished.answer);
  return finished.status.ok() ? written : finished.status;
}

}  // namespace horizon
