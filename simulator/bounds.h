#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "schedule/chunk_table.h"
#include "schedule/schedule.h"
#include "simulator/cost_model.h"

namespace horizon {

// Closed forms: what a step takes at least, without simulating it. A step cannot be shorter than
// the busy time of any lane, nor than the bytes it moves through DRAM take at full bandwidth.

struct StepBound {
  std::array<int64_t, kLaneCount> busy_nanoseconds{};  // of each lane, alone on the machine
  double dram_nanoseconds = 0;                         // all DRAM traffic at full bandwidth
  // From the last compute of a step to the first of the next: its gradient (and rows) leave and
  // complete the norm, the first chunk is updated, and crosses the link after tokens (and rows).
  // Nothing computes meanwhile.
  int64_t turn_nanoseconds = 0;

  // The largest of the lanes, DRAM, and compute with the turn.
  int64_t nanoseconds() const;
};

// Of a steady step of a built schedule: exact sums.
StepBound BoundOf(const Schedule& schedule, const CostTable& costs);

// Of a training step of strategy `horizon` or `resident` before its schedule is built: from the
// order of compute, the loads a ring of this depth needs, and the bytes that leave. Its lanes are
// never above BoundOf of the built schedule; with `horizon` those of h2d, compute, d2h and
// optimizer are equal. Nothing for other strategies.
StepBound BoundStep(const TrainingJob& job, const StreamPlan& plan, const ChunkTable& chunks,
                    const CostModel& model);

// The paper's overlap condition of a chunk: its load hides behind the compute of the chunk before
// when bytes / link rate <= that compute time.
struct Overlap {
  int32_t chunk = 0;
  int64_t load_nanoseconds = 0;
  int64_t previous_compute_nanoseconds = 0;
  bool hidden() const { return load_nanoseconds <= previous_compute_nanoseconds; }
};
// Of every streamed layer chunk but the first, in forward.
std::vector<Overlap> ForwardOverlaps(const Schedule& schedule, const CostModel& model);

}  // namespace horizon
