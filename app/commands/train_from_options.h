#pragma once

#include "absl/status/status.h"
#include "app/command.h"
#include "app/options/train_options.h"
#include "common/signal_flag.h"

namespace horizon {

// Returns what a signal does before the first step: it ends the process at once with exit code 75
// and a line in the log. `train` and `demo` begin with
//   StopSignals signals(EndBeforeTraining(context));
StopSignals::EndAtOnce EndBeforeTraining(const CommandContext& context);

// Makes a training run, from options to a trained model on disk, with the library in training/.
// This is what `train` and `demo` do. Messages go to the log, the answer goes to the output. From
// the first step on, a signal no longer ends the process: the run saves its state and stops.
absl::Status TrainFromOptions(const CommandContext& context, const TrainOptions& options,
                              StopSignals& signals);

}  // namespace horizon
