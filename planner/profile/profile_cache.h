#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "planner/profile/host/host_limits.h"
#include "simulator/hardware_profile.h"
#include "simulator/machine_facts.h"

namespace horizon {

// A cache of the profiles that were measured on this machine, for later commands. It is a folder of
// the user with one file for each hardware. A file has the format that `horizon profile --output`
// writes; `measured_on` says on which hardware and when the profile was measured.

// The identity of this machine, by which its profile is found.
ProfiledHardware HardwareOf(const HostLimits& host, std::string device);
// The `measured_on` of a profile that is measured now; `now` is Unix time in seconds.
MeasuredOn MeasuredNow(ProfiledHardware hardware, int64_t now);

struct CachedProfile {
  HardwareProfile profile;  // has measured_on
  std::string path;         // of its file
};

// Finds the profile of this hardware. Returns NotFound where there is none, and DataLoss with the
// reason where there is a file that cannot be used; callers then measure again instead of failing.
absl::StatusOr<CachedProfile> FindCachedProfile(Io& io, const std::string& folder,
                                                const ProfiledHardware& hardware);
// Writes a profile, which must have measured_on (CHECK), into an existing folder and returns its
// path. The file is written completely or not at all.
absl::StatusOr<std::string> CacheProfile(Io& io, const std::string& folder,
                                         const HardwareProfile& profile);

// For people: "3 hours old". A profile from the future is "new".
std::string AgeText(int64_t made, int64_t now);
// Why a profile should be measured again: it is older than kOldProfileDays, or it was measured with
// other kernels than those of this program. Empty where there is no reason.
std::string StaleReason(const MeasuredOn& measured, int64_t now);
inline constexpr int64_t kOldProfileDays = 30;
// For people: "3 hours old, quick", and for a stale profile "; older than 30 days: `horizon
// profile` measures again".
std::string FreshnessText(const MeasuredOn& measured, int64_t now);

}  // namespace horizon
