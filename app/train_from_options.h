#pragma once

#include "absl/status/status.h"
#include "app/command.h"
#include "app/train_options.h"

namespace horizon {

// A training run from options to a trained model on disk: what `train` and `demo` do, with the
// library in training/. Lines for people go to the log; the answer goes to the output.
absl::Status TrainFromOptions(const CommandContext& context, const TrainOptions& options);

}  // namespace horizon
