#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "app/command.h"
#include "app/device_option.h"
#include "planner/profile_cache.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// The machine this program runs on, measured: what plans are made from.

enum class ProfileDepth { kQuick, kFull };

// Measures this machine with the device in under 20 s (quick) or 3 minutes, keeps the profile for
// later commands where there is a place for it, and tells how far it is in the log. `disk_folder`:
// also how fast files are written there; empty: not.
absl::StatusOr<KeptProfile> MeasureThisMachine(const CommandContext& context,
                                               const ChosenDevice& device, ProfileDepth depth,
                                               const std::string& disk_folder = "");

// The profile that is kept, with what memory is free now; measured quickly where there is none. The
// log says which, and how old.
absl::StatusOr<HardwareProfile> ProfileOfThisMachine(const CommandContext& context,
                                                     const ChosenDevice& device);

}  // namespace horizon
