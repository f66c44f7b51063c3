#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "schedule/schedule.h"
#include "schedule/timeline/timeline.h"

namespace horizon {

// How full each memory is over a timeline. A buffer counts from the start of the operation that
// fills it to the end of the last one that reads that content; what was there from the start counts
// throughout. The layout reserves every buffer all the time, so this never passes its totals: the
// difference is what other placements could save.
struct MemoryChange {
  int64_t time_ns = 0;
  MemoryTotals bytes{};  // in use from this time on
};
std::vector<MemoryChange> MemoryOverTime(const Schedule& schedule, const Timeline& timeline);

}  // namespace horizon
