#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "schedule/schedule.h"
#include "schedule/timeline/timeline.h"

namespace horizon {

// The bytes in use in each memory from a moment on.
struct MemoryChange {
  int64_t time_ns = 0;
  MemoryTotals bytes{};
};
// How full each memory is over a timeline, in order of time. A buffer counts from the start of the
// operation that fills it to the end of the last operation that reads that content; a buffer that
// is filled before the first step counts throughout. The layout reserves every buffer all the time,
// so the result never exceeds its totals; the difference is what another placement could save.
std::vector<MemoryChange> MemoryOverTime(const Schedule& schedule, const Timeline& timeline);

}  // namespace horizon
