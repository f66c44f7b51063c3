#pragma once

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/files/io.h"
#include "common/log.h"
#include "model/model_spec.h"
#include "planner/profile/machine_speed.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// How fast this machine is now, as a share of the profile's speed, for a plan that is made now: a
// machine that is shared with others is not always as fast as when it was measured. The look takes
// no more memory than the limits of this process allow, nor than a run of the model takes.
//
// A look that finds less than half of the profile's speed may have met a busy moment, so there are
// up to three. If all find it so slow, the shares are 1 and the log says that the plan is made from
// the profile: what others do to the machine now says nothing of the hours a run takes.
absl::StatusOr<MachineSpeed> MeasureSpeedBefore(Io& io, Clock& clock, Log& log,
                                                const ModelSpec& spec,
                                                const HardwareProfile& profile);

}  // namespace horizon
