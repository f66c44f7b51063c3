#pragma once

#include <cstdint>
#include <vector>

#include "schedule/schedule.h"
#include "simulator/cost_model.h"

namespace horizon {

// Small schedules with costs made by hand, for tests that work out the timeline in a comment.

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

// A schedule of one step, on a machine of 8 cores with 10 bytes/ns of DRAM and 10 bytes/ns of link.
HandMade OneStep(const std::vector<HandOperation>& first);
// A schedule with a first step and a step that repeats. Both have a body and no prologue.
HandMade Repeating(const std::vector<HandOperation>& first,
                   const std::vector<HandOperation>& steady);

}  // namespace horizon
