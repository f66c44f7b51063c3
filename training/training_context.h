#pragma once

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/files/io.h"
#include "common/log.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// The services that a training run uses. Whoever starts the run provides them: the program, an
// experiment or a test. The run writes messages to the log and prints nothing. Everything here must
// outlive the run.
struct TrainingContext {
  Io& io;
  Clock& clock;
  Log& log;
  // Returns the profile of the machine that the run is planned for, with a device of the kind that
  // the run uses. It is called at most once, after every check that does not need it, since
  // measuring a profile takes time.
  std::function<absl::StatusOr<HardwareProfile>()> machine;
  // Called when a schedule lane hangs, before the error is returned (RunEnvironment::on_stall). May
  // be empty.
  std::function<void(const absl::Status&)> on_stall;
};

}  // namespace horizon
