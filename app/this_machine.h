#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "app/command.h"
#include "app/options/device_option.h"
#include "planner/profile/profile_cache.h"
#include "runtime/device/nvml.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// The machine this program runs on, measured: what plans are made from.

enum class ProfileDepth { kQuick, kFull };

struct ProfileRequest {
  ProfileDepth depth = ProfileDepth::kQuick;
  // Also how fast files are written and read there; empty: not.
  std::string disk_folder;
  bool disk_needed = true;  // a folder that cannot be measured is an error, else a warning
  std::string nvml_library = kNvmlLibrary;
};

// Measures this machine with the device in under 20 s (quick) or 3 minutes, shows how far it is,
// and keeps the profile for later commands where there is a place for it.
absl::StatusOr<KeptProfile> MeasureThisMachine(const CommandContext& context,
                                               const ChosenDevice& device,
                                               const ProfileRequest& request);

// The profile that is kept, with what memory is free now; measured quickly where there is none that
// can be used. The log says which, how old, and why it should be measured again if so.
absl::StatusOr<HardwareProfile> ProfileOfThisMachine(const CommandContext& context,
                                                     const ChosenDevice& device);

// The profile for a run that happens here: the one that `option` ("--machine") names, which is
// warned of as below, or this machine's.
absl::StatusOr<HardwareProfile> ProfileForRun(const CommandContext& context,
                                              const ChosenDevice& device, const std::string& option,
                                              const std::optional<std::string>& machine);

// Keeps a profile of this machine for later commands, in place of the one that was kept. Returns
// where; empty, with a warning, where there is no place for it.
std::string KeepThisMachine(const CommandContext& context, const HardwareProfile& profile);

// For commands whose run happens here though --machine names a profile: warns, with what differs,
// when that was measured on another machine or is stale. `given` is the option: "--machine FILE".
absl::Status WarnOfOtherMachine(const CommandContext& context, const ChosenDevice& device,
                                const std::string& given, const HardwareProfile& profile);
// For commands that may ask of any machine: says whose profile it is and how old. Nothing of one
// that was not measured.
void LogProfileSource(const CommandContext& context, const std::string& name,
                      const HardwareProfile& profile);

}  // namespace horizon
