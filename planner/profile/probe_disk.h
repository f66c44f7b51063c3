#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/files/io.h"
#include "common/units.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// Measures how fast files in `folder` are written (including sync) and read, and how much space is
// free there. Reading bypasses the page cache where the file system allows it (O_DIRECT); elsewhere
// the cache is dropped before each read. The rates are medians of up to kMostDiskRepeats runs over
// a file of up to 64 MiB. A slow disk gets a smaller file, so that `time` is exceeded only if a run
// is delayed. The file is removed afterwards. Errors are those of Io.
absl::StatusOr<DiskProfile> ProbeDisk(Io& io, Clock& clock, const std::string& folder,
                                      Seconds time = Seconds{2.4});
inline constexpr int64_t kMostDiskRepeats = 5;

// The measured disk of a profile that stores the files of `folder`: of the disks with a path that
// `folder` is equal to or below, the one with the longest path. Only absolute paths are compared.
// nullptr where there is none.
const DiskProfile* FindDisk(const HardwareProfile& profile, const std::string& folder);

}  // namespace horizon
