#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/io.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// How fast files in `folder` are written: 64 MiB through a file that is synced and removed again,
// in about a second on a slow disk. Reading is not measured (what was just written is in the
// cache): the profile says the same rate for it. Io's errors.
absl::StatusOr<DiskProfile> ProbeDisk(Io& io, Clock& clock, const std::string& folder);

}  // namespace horizon
