#pragma once

#include "absl/status/status.h"
#include "app/command.h"
#include "app/options/train_options.h"
#include "common/signal_flag.h"

namespace horizon {

// What a signal leads to until the first step: the end at once, exit code 75 and a line that says
// so. `train` and `demo` begin with
//   StopSignals signals(EndBeforeTraining(context));
StopSignals::EndAtOnce EndBeforeTraining(const CommandContext& context);

// A training run from options to a trained model on disk: what `train` and `demo` do, with the
// library in training/. Lines for people go to the log; the answer goes to the output. From the
// first step on `signals` are noted only, and followed by a save.
absl::Status TrainFromOptions(const CommandContext& context, const TrainOptions& options,
                              StopSignals& signals);

}  // namespace horizon
