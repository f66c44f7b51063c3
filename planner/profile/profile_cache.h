#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "planner/profile/host/host_limits.h"
#include "simulator/hardware_profile.h"
#include "simulator/machine_facts.h"

namespace horizon {

// Profiles that were measured on this machine, kept for the commands that come later: a file for
// each hardware below a folder of the user's, the same that `horizon profile --output` writes. What
// it was measured on, and when, is in the profile (`measured_on`).

// This machine, as a profile of it is known by.
ProfiledHardware HardwareOf(const HostLimits& host, std::string device);
// What is written into a profile that is measured now.
MeasuredOn MeasuredNow(ProfiledHardware hardware, int64_t now);

struct KeptProfile {
  HardwareProfile profile;  // with measured_on
  std::string path;
};

// NotFound where there is none for this hardware; DataLoss, with the reason, where there is a file
// that cannot be used: a profile is measured again sooner than a command fails for an old one.
absl::StatusOr<KeptProfile> FindKeptProfile(Io& io, const std::string& folder,
                                            const ProfiledHardware& hardware);
// Into a folder that is there; the file is whole or not there at all. Returns its path.
absl::StatusOr<std::string> KeepProfile(Io& io, const std::string& folder,
                                        const HardwareProfile& profile);

// "3 hours old"; what was made in the future is "new".
std::string AgeText(int64_t made, int64_t now);
// Why a profile should be measured again: it is older than kOldProfileDays, or its kernels are not
// this program's. Empty: no reason.
std::string StaleReason(const MeasuredOn& measured, int64_t now);
inline constexpr int64_t kOldProfileDays = 30;
// "3 hours old, quick" and, where it is stale, "; older than 30 days: `horizon profile` measures
// again".
std::string FreshnessText(const MeasuredOn& measured, int64_t now);

}  // namespace horizon
