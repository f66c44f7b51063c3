#pragma once

#include <cstdint>
#include <vector>

#include "schedule/schedule.h"
#include "simulator/cost_model.h"

namespace horizon {

// Schedules and costs made by hand, for timelines that are worked out in a comment.

struct HandOperation {
  Lane lane = Lane::kCompute;
  int64_t nanoseconds = 1;
  std::vector<Wait> waits;
  ResourceAmounts draw{};
  OperationKind kind = OperationKind::kForward;
};

struct HandMade {
  Schedule schedule;
  CostTable costs;
};

// One step, with capacity {8 cores, 10 bytes/ns of DRAM, 10 bytes/ns of link}.
HandMade OneStep(const std::vector<HandOperation>& first);
// A first step and one that repeats; both are all body.
HandMade Repeating(const std::vector<HandOperation>& first,
                   const std::vector<HandOperation>& steady);

}  // namespace horizon
