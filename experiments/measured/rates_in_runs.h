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

// Measures the last part of a profile of device `host`. The rates of a profile are measured kernel
// by kernel; here small training runs show what share of these rates operations reach in a run. The
// runs have three shapes (five in a full profile), which differ from those of `validate`.

// How many shapes are run.
enum class RunsDepth { kQuick, kFull };
// Settings of MeasureRatesInRuns.
struct RunsForProfile {
  Io& io;
  Clock& clock;
  RunsDepth depth = RunsDepth::kQuick;
  std::string when;                                         // date and time, for the profile
  std::function<void(int64_t done, int64_t total)> on_run;  // called after each run; may be null
};

// The most host memory that these runs take, apart from that of measuring the profile.
inline constexpr Bytes kRunsForProfileBytes = 1_GiB;

// Returns `profile` with its `in_runs` measured anew (earlier values of `in_runs` have no effect),
// and the measurements behind them. Errors of the runs.
absl::StatusOr<Refit> MeasureRatesInRuns(const HardwareProfile& profile,
                                         const RunsForProfile& runs);

}  // namespace horizon
