#pragma once

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/files/io.h"
#include "common/log.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// What a training is given by whoever starts it: the program, an experiment or a test. Lines for
// people go to the log; nothing is printed. All of it outlives the training.
struct TrainingContext {
  Io& io;
  Clock& clock;
  Log& log;
  // The profile of the machine that the run is planned for, with a device of the kind it runs on.
  // It is asked for once, after everything that can be refused without it: measuring takes time.
  std::function<absl::StatusOr<HardwareProfile>()> machine;
  // Told of a lane that hangs before the error is returned (Executor::Options); may be missing.
  std::function<void(const absl::Status&)> on_stall;
};

}  // namespace horizon
