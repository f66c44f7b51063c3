#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "schedule/schedule.h"
#include "simulator/cost_model.h"
#include "simulator/simulate.h"

namespace horizon {

// Time in which a lane was idle because it waited for operations of one kind on another lane.
struct Stall {
  Lane lane = Lane::kCompute;  // the idle lane
  Lane awaited_lane = Lane::kH2d;
  OperationKind awaited = OperationKind::kLoadChunk;
  int64_t nanoseconds = 0;
};
// The time of a step in a long run, where steps overlap.
struct SteadyState {
  int64_t step_nanoseconds = 0;
  std::array<int64_t, kLaneCount> busy_nanoseconds{};  // of each lane within that step
  std::vector<Stall> stalls;                           // longest first
  bool settled = true;    // false: steps still differed when the simulation ended
  Simulation simulation;  // first, the steady steps, and drain

  // The step of the simulation that busy times and stalls are taken from: the last but one, because
  // the next step is under way at its end, as in a long run.
  int32_t reported_step = 0;

  double step_seconds() const { return static_cast<double>(step_nanoseconds) * 1e-9; }
  double busy_share(Lane lane) const {
    return static_cast<double>(busy_nanoseconds[static_cast<size_t>(lane)]) /
           static_cast<double>(step_nanoseconds);
  }
};
// Simulates more and more steps until one takes the same time on every lane and the next takes the
// same time on compute. If none does, step_nanoseconds is the average on the slowest lane.
SteadyState SimulateSteadyState(const Schedule& schedule, const CostTable& costs,
                                Contention contention = Contention::kShared);

}  // namespace horizon
