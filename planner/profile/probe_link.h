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

// Reads the current state of a device's PCIe link from the driver.
using LinkReader = std::function<absl::StatusOr<NvmlLink>()>;

// Reads the state of the PCIe link under load, because an idle device lowers the generation of its
// link. It copies to the device and reads the state again and again, until the link is at its best
// or `time` has passed, and returns the best state seen. None where the driver does not report it.
// Uses 32 MiB of the device and of the host meanwhile. Errors are those of the device.
absl::StatusOr<std::optional<PcieState>> ProbeLink(Clock& clock, Device& device,
                                                   const LinkReader& read,
                                                   Seconds time = Seconds{0.5});

}  // namespace horizon
