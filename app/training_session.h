#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "app/command.h"
#include "app/train_options.h"

namespace horizon {

// A training run from options to a trained model on disk: what `train` and `demo` do.
//   plan (or read one) -> refuse what does not fit -> load -> train -> export -> say how far the
//   prediction was off
// Lines for people go to the log and, as the answer, to the output.
absl::Status TrainFromOptions(const CommandContext& context, const TrainOptions& options);

}  // namespace horizon
