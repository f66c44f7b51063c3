#pragma once

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/files/io.h"
#include "common/log.h"
#include "model/model_spec.h"
#include "planner/profile/machine_speed.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// Estimates how fast this machine will be during a run, as a fraction of the speed in its profile,
// so that the plan and the prediction of the run match it: a shared machine is not always as fast
// as when its profile was measured. A measurement takes about 1.5 seconds, and no more memory than
// the limits of this process allow nor than a run of the model takes.
//
// A single measurement may hit a slow moment. One that differs from the profile by more than twice
// its noise is therefore repeated twice, and the result is what all of them make one expect
// (ExpectSpeed). If every one is below half of the profile's speed, the result is 1 (the profile's
// own speed) and the log says that the plan is made from the profile: the current load of other
// processes does not predict the hours that a run takes. The result is also 1 if the profile has no
// measured speed to compare with, or if too little memory is free, which is logged.
absl::StatusOr<MachineSpeed> MeasureSpeedBeforeRun(Io& io, Clock& clock, Log& log,
                                                   const ModelSpec& spec,
                                                   const HardwareProfile& profile);

}  // namespace horizon
