#pragma once

#include <functional>
#include <optional>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/units.h"
#include "runtime/device/device.h"
#include "runtime/device/nvml.h"
#include "simulator/machine_facts.h"

namespace horizon {

// Asks the driver what a device's link is now.
using LinkReader = std::function<absl::StatusOr<NvmlLink>()>;

// The state of the link while copies run, since a device lowers its link at rest: copies to the
// device go on, and the driver is asked again, until the link shows its best or `time` has passed;
// the best seen is the answer. None where the driver does not tell. Takes 32 MiB of the device and
// of the host meanwhile. Errors of the device.
absl::StatusOr<std::optional<PcieState>> ProbeLink(Clock& clock, Device& device,
                                                   const LinkReader& read,
                                                   Seconds time = Seconds{0.5});

}  // namespace horizon
