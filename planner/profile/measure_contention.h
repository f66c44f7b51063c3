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

// What the lanes of a step lose to each other. Work of two lanes is done again and again, by one
// alone, by both at once, by the other alone: what each did meanwhile, beside what it did alone a
// moment before or after, is what it keeps. The machine's own speed falls out.

// A piece of what a lane does, about a millisecond of it. Called by one thread at a time, which
// need not be the same; it may have threads of its own. Pieces of different lanes run at once.
struct LaneWork {
  Lane lane = Lane::kCompute;
  std::string what;  // for people: "Adam by one thread"
  std::function<absl::Status()> piece;
};

struct ContentionTime {
  Seconds time{1};                                // of all pairs together
  int64_t rounds = 3;                             // of each pair; the median counts
  std::string when;                               // the date, for the profile
  std::function<void(int64_t done)> on_measured;  // of ContentionPairs(works); may be empty
};
int64_t ContentionPairs(size_t works);

// Both directions of every pair of `works`, each marked `measured` with repeats and spread. Uses
// the calling thread and one more. The first error of a piece ends it; ResourceExhausted without a
// thread.
absl::StatusOr<std::vector<LaneContention>> MeasureContention(Clock& clock,
                                                              std::span<const LaneWork> works,
                                                              const ContentionTime& time);

// Work that keeps all cores busy, beside each of `others`, which want one of them too: the speed it
// has then as a share of what they have, the mean over the others. Measured as above.
absl::StatusOr<Figure> MeasureCrowdedWeight(Clock& clock, const LaneWork& crowded,
                                            std::span<const LaneWork> others,
                                            const ContentionTime& time);

}  // namespace horizon
