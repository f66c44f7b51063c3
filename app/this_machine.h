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

// The profile of the machine that the program runs on: measuring it, caching it for later commands,
// and loading it. Plans are made from it.

enum class ProfileDepth { kQuick, kFull };

struct ProfileRequest {
  ProfileDepth depth = ProfileDepth::kQuick;
  std::string disk_folder;  // the speed of its disk is measured too; empty: no disk is measured
  bool disk_needed = true;  // whether a folder that cannot be measured is an error or a warning
  std::string nvml_library = kNvmlLibrary;
};

// Measures this machine with the device, in under 20 s (quick) or 3 minutes (full). It shows the
// progress and caches the profile for later commands where the user has a cache folder.
absl::StatusOr<CachedProfile> MeasureThisMachine(const CommandContext& context,
                                                 const ChosenDevice& device,
                                                 const ProfileRequest& request);

// The cached profile, with the memory that is free now; if no usable one is cached, a quick
// measurement. The log says which of the two it is, how old a cached profile is, and, where that
// applies, why it should be measured again.
absl::StatusOr<HardwareProfile> ProfileOfThisMachine(const CommandContext& context,
                                                     const ChosenDevice& device);

// The profile for a run on this machine: the one that `machine` names, with the warnings of
// WarnOfOtherMachine, or this machine's own when `machine` is empty. `option` ("--machine") is for
// messages.
absl::StatusOr<HardwareProfile> ProfileForRun(const CommandContext& context,
                                              const ChosenDevice& device, const std::string& option,
                                              const std::optional<std::string>& machine);

// Caches a profile of this machine for later commands, in place of the earlier one. Returns its
// path; empty if there is no cache folder or, with a warning, if it cannot be written.
std::string CacheMachineProfile(const CommandContext& context, const HardwareProfile& profile);

// For commands that run on this machine though --machine names a profile: warns when the profile
// was measured on another machine (with the difference) or is stale; otherwise logs how old it is.
// `given` is the option as typed: "--machine FILE".
absl::Status WarnOfOtherMachine(const CommandContext& context, const ChosenDevice& device,
                                const std::string& given, const HardwareProfile& profile);
// For commands that plan for any machine: logs where the profile was measured and how old it is.
// Logs nothing for a profile that was not measured.
void LogProfileSource(const CommandContext& context, const std::string& name,
                      const HardwareProfile& profile);

}  // namespace horizon
