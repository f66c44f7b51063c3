#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "schedule/schedule.h"
#include "schedule/timeline/timeline.h"
#include "simulator/cost_model.h"

namespace horizon {

// The event simulator: executes a Schedule on costs instead of a device. Lanes are first in, first
// out; an operation starts when its lane is free and all it waits for has ended; while it runs, it
// and its neighbours on other lanes share cores, DRAM and link fairly (fair_share.h), solved anew
// at every start and end. Time is integer nanoseconds; the same input gives the same output.

enum class Contention { kShared, kNone };

struct Simulation {
  Timeline timeline;
  // By entry of the timeline: the entry whose end it started at after its lane had been idle for
  // it; -1 where the lane itself was what it waited for.
  std::vector<int32_t> awaited;
};

// `costs` are CostsOf(schedule) (or made by hand). Memory is linear in the operations of `steps`.
Simulation Simulate(const Schedule& schedule, const CostTable& costs, std::vector<StepKind> steps,
                    Contention contention = Contention::kShared);

}  // namespace horizon
