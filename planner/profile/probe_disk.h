#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/files/io.h"
#include "common/units.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// How fast files in `folder` are written (and synced) and read (from the disk, not from the
// system's cache: past it where the file system allows that, else after the cache was dropped), and
// what is free there. Medians of up to kMostDiskRepeats runs over a file of up to 64 MiB, which a
// slow disk gets smaller, so that `time` is kept but for a run that is held up; nothing stays
// behind. Io's errors.
absl::StatusOr<DiskProfile> ProbeDisk(Io& io, Clock& clock, const std::string& folder,
                                      Seconds time = Seconds{2.4});
inline constexpr int64_t kMostDiskRepeats = 5;

// The measured disk of a profile that files in `folder` lie on: the one whose path is the longest
// that `folder` is below. Only absolute paths can be told to be so. Null where there is none.
const DiskProfile* FindDisk(const HardwareProfile& profile, const std::string& folder);

}  // namespace horizon
