#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "schedule/schedule.h"
#include "schedule/timeline/timeline.h"
#include "simulator/cost_model.h"

namespace horizon {

// The event simulator: executes a Schedule with the costs of its operations instead of on a device.
// Lanes are first in, first out. An operation starts when its lane is free and everything it waits
// for has ended. Operations that run at the same time on different lanes share cores, DRAM and the
// PCIe link fairly (fair_share.h); their speeds are computed anew at every start and end. Time is
// in integer nanoseconds, and the same input gives the same output.

// kNone: operations of different lanes do not slow each other down.
enum class Contention { kShared, kNone };

// The result of a simulation.
struct Simulation {
  Timeline timeline;
  // For each entry of the timeline: the entry that it waited for last while its lane was idle; -1
  // where it started as soon as its lane was free.
  std::vector<int32_t> awaited;
};

// `costs` is CostsOf(schedule), or made by hand. The memory used is linear in the operations of
// `steps`.
Simulation Simulate(const Schedule& schedule, const CostTable& costs, std::vector<StepKind> steps,
                    Contention contention = Contention::kShared);

}  // namespace horizon
