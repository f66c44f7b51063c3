#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "schedule/schedule.h"
#include "simulator/cost_model.h"
#include "simulator/simulate.h"

namespace horizon {

// How a step repeats: simulated until a step takes the same time on every lane, and the next the
// same on compute. Where none does, what a step takes on average on the slowest lane.
struct Stall {
  Lane lane = Lane::kCompute;  // which was idle
  Lane awaited_lane = Lane::kH2d;
  OperationKind awaited = OperationKind::kLoadChunk;
  int64_t nanoseconds = 0;
};
struct SteadyState {
  int64_t step_nanoseconds = 0;
  std::array<int64_t, kLaneCount> busy_nanoseconds{};  // within that step
  std::vector<Stall> stalls;                           // longest first
  bool settled = true;                                 // false: steps still differed
  Simulation simulation;                               // first, the steady ones, and drain

  // The step of the simulation that busy times are of: the last but one, whose successor is under
  // way as in a long run.
  int32_t reported_step = 0;

  double step_seconds() const { return static_cast<double>(step_nanoseconds) * 1e-9; }
  double busy_share(Lane lane) const {
    return static_cast<double>(busy_nanoseconds[static_cast<size_t>(lane)]) /
           static_cast<double>(step_nanoseconds);
  }
};
SteadyState SimulateSteadyState(const Schedule& schedule, const CostTable& costs,
                                Contention contention = Contention::kShared);

}  // namespace horizon
