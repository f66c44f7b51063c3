#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/units.h"
#include "schedule/operation.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// Measures how much the lanes of a step slow each other down. For two lanes it repeats the work of
// one alone, of both at once, and of the other alone. The speed that each reaches beside the other,
// divided by its speed alone a moment before or after, is the share of its speed that it keeps. The
// current speed of the machine cancels out.

// The work of a lane. `piece` does about a millisecond of it. One thread at a time calls it, not
// always the same one; it may use threads of its own. Pieces of different lanes run at the same
// time.
struct LaneWorkload {
  Lane lane = Lane::kCompute;
  std::string what;  // for people: "Adam by one thread"
  std::function<absl::Status()> piece;
};

// How to measure.
struct ContentionTime {
  Seconds time{1};     // for all pairs together
  int64_t rounds = 3;  // repetitions of each pair; the result is their median
  std::string when;    // the date, for the profile
  // Called after each pair with how many of ContentionPairs are done; may be empty.
  std::function<void(int64_t done)> on_measured;
};
// The number of pairs of so many workloads.
int64_t ContentionPairs(size_t workloads);

// Measures both directions of every pair of workloads, which must be of different lanes (CHECK).
// Each result is marked `measured` with repeats and spread. Uses the calling thread and one more.
// Returns the first error of a piece, and ResourceExhausted if the thread cannot be started.
absl::StatusOr<std::vector<LaneContention>> MeasureContention(
    Clock& clock, std::span<const LaneWorkload> workloads, const ContentionTime& time);

// Measures HostProfile::compute_weight: `crowded` keeps all cores busy, and each of `others` (at
// least one; CHECK) competes for a core with it. The result is the share of its speed that
// `crowded` keeps, divided by the share that the other keeps, as the mean over the others. Measured
// as above.
absl::StatusOr<Figure> MeasureCrowdedWeight(Clock& clock, const LaneWorkload& crowded,
                                            std::span<const LaneWorkload> others,
                                            const ContentionTime& time);

}  // namespace horizon
