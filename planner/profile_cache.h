#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/io.h"
#include "planner/host_limits.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// Profiles that were measured on this machine, kept for the commands that come later: a JSON file
// for each hardware below a folder of the user's.

// What a profile is of. Two machines, or one that was changed, differ in it; how busy a machine is
// and how much of its memory is free does not matter.
struct ProfiledHardware {
  std::string processor;
  int64_t cores = 1;  // that the process may use
  uint64_t memory_bytes = 0;
  int64_t numa_nodes = 1;
  std::string device;  // "host", or what identifies a GPU: name, memory, driver
  friend bool operator==(const ProfiledHardware&, const ProfiledHardware&) = default;
};
ProfiledHardware HardwareOf(const HostLimits& host, std::string device);
// What differs, in words; empty: nothing. "cores: 2 instead of 8, ..."
std::string DifferenceOf(const ProfiledHardware& here, const ProfiledHardware& there);

struct KeptProfile {
  HardwareProfile profile;
  ProfiledHardware hardware;
  int64_t made = 0;    // seconds since the begin of 1970
  bool quick = false;  // measured in a hurry
  std::string path;
};

// None where there is none for this hardware, or what is there cannot be read (a profile is
// measured again sooner than a command fails for an old one).
std::optional<KeptProfile> FindKeptProfile(Io& io, const std::string& folder,
                                           const ProfiledHardware& hardware);
// Into a folder that is there; the file is whole or not there at all. Returns its path.
absl::StatusOr<std::string> KeepProfile(Io& io, const std::string& folder,
                                        const KeptProfile& profile);

// "3 hours old"; what was made in the future is "new".
std::string AgeText(int64_t made, int64_t now);

}  // namespace horizon
