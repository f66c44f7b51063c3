#pragma once

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/files/io.h"
#include "common/log.h"
#include "model/model_spec.h"
#include "planner/profile/machine_speed.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// Measures how fast this machine is now, as a fraction of the speed in its profile, so that the
// plan and the prediction of a run match the current speed: a shared machine is not always as fast
// as when its profile was measured. The measurement takes about 1.5 seconds, and no more memory
// than the limits of this process allow nor than a run of the model takes.
//
// A measurement below half of the profile's speed may have hit a busy moment, so it is repeated, up
// to three times in all. If every one is that slow, the result is 1 (the profile's own speed) and
// the log says that the plan is made from the profile: the current load of other processes does not
// predict the hours that a run takes. The result is also 1 if the profile has no measured speed to
// compare with, or if too little memory is free, which is logged.
absl::StatusOr<MachineSpeed> MeasureSpeedBeforeRun(Io& io, Clock& clock, Log& log,
                                                   const ModelSpec& spec,
                                                   const HardwareProfile& profile);

}  // namespace horizon
