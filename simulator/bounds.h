#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "schedule/chunk_table.h"
#include "schedule/schedule.h"
#include "simulator/cost_model.h"

namespace horizon {

// Lower bounds of the time of a step in closed form, without simulating it. The plan search uses
// them. A step takes at least the busy time of each lane, and at least the time that its DRAM
// traffic takes at full bandwidth.

// The bound of one step, by its parts.
struct StepBound {
  std::array<int64_t, kLaneCount> busy_nanoseconds{};  // of each lane, if it ran alone
  double dram_nanoseconds = 0;                         // all DRAM traffic at full bandwidth
  // The turn: the time from the last compute of a step to the first compute of the next. The last
  // gradient (and embedding rows) is copied to the host, the norm is completed, the first chunk is
  // updated, and after tokens (and rows) it is loaded. Nothing computes meanwhile.
  int64_t turn_nanoseconds = 0;

  // The bound of the step: the largest of the lanes, DRAM, and compute plus the turn.
  int64_t nanoseconds() const;
};

// The bound of a steady step of a built schedule: exact sums over its operations. (The turn is left
// 0.)
StepBound BoundOf(const Schedule& schedule, const CostTable& costs);

// The bound of a training step of strategy `horizon` or `resident` before its schedule is built. It
// follows from the order of compute, the loads that a ring of this depth needs, and the bytes
// copied to the host. No lane is above BoundOf of the built schedule; with `horizon`, h2d, compute,
// d2h and optimizer are equal to it. All zeros for other strategies.
StepBound BoundStep(const TrainingJob& job, const StreamPlan& plan, const ChunkTable& chunks,
                    const CostModel& model);

// The paper's overlap condition for a chunk: its load is hidden behind the compute of the chunk
// before it when bytes / link rate <= that compute time.
struct Overlap {
  int32_t chunk = 0;
  int64_t load_nanoseconds = 0;
  int64_t previous_compute_nanoseconds = 0;
  bool hidden() const { return load_nanoseconds <= previous_compute_nanoseconds; }
};
// One entry for every streamed layer chunk but the first, in forward order.
std::vector<Overlap> ForwardOverlaps(const Schedule& schedule, const CostModel& model);

}  // namespace horizon
