#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/files/io.h"
#include "common/units.h"
#include "planner/profile/refit_profile.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// The last part of a profile of device `host`: its rates are measured kernel by kernel, and what
// operations reach of them in a run is found by making some. The runs are small ones of three
// shapes (in full: five), others than those of `validate`.

enum class RunsDepth { kQuick, kFull };
struct RunsForProfile {
  Io& io;
  Clock& clock;
  RunsDepth depth = RunsDepth::kQuick;
  std::string when;                                         // the date, for the profile
  std::function<void(int64_t done, int64_t total)> on_run;  // after each; may be empty
};

// What all of them take at most of host memory, the profile's own aside.
inline constexpr Bytes kRunsForProfileBytes = 1_GiB;

// `profile` with its `in_runs` measured anew (figures of an earlier time play no part), and what
// they were found from. Errors of the runs.
absl::StatusOr<Refit> MeasureRatesInRuns(const HardwareProfile& profile,
                                         const RunsForProfile& runs);

}  // namespace horizon
