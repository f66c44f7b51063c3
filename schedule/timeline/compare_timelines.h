#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "schedule/schedule.h"
#include "schedule/timeline/timeline.h"

namespace horizon {

// How long each operation of a step takes: what was predicted beside what was measured, from two
// timelines of one schedule. Durations are compared, not starts: a lane that is late for one
// operation is late for all behind it, and only that one is to blame.

struct Compared {
  double predicted = 0;  // seconds
  double measured = 0;
  double difference() const { return measured - predicted; }
};

struct LaneComparison {
  Lane lane = Lane::kCompute;
  int64_t operations = 0;
  Compared busy;  // the sum of their durations
};

// All operations of a kind on a lane.
struct KindComparison {
  OperationKind kind = OperationKind::kForward;
  Lane lane = Lane::kCompute;
  int64_t operations = 0;
  Compared seconds;
};

struct OperationComparison {
  OperationId operation = 0;
  std::string name;  // "backward attention_3..feed_forward_4, micro-batch 0"
  Lane lane = Lane::kCompute;
  Compared seconds;
};

struct TimelineComparison {
  std::vector<LaneComparison> lanes;        // those with operations
  std::vector<KindComparison> kinds;        // largest difference (either way) first
  std::vector<OperationComparison> misses;  // the operations that missed most, at most `most`
};

// Durations of a steady step by operation, in nanoseconds.
using StepDurations = std::vector<int64_t>;
// Of step number `step` of the timeline, which must be a steady one (CHECK).
StepDurations DurationsOf(const Schedule& schedule, const Timeline& timeline, int32_t step);

// Both have one duration for each operation of schedule.steady (CHECK).
TimelineComparison CompareDurations(const Schedule& schedule, const StepDurations& predicted,
                                    const StepDurations& measured, size_t most = 5);

// The median of each operation over several steps; CHECK for none.
class MedianDurations {
 public:
  // Keeps at most so many steps: the last ones.
  explicit MedianDurations(size_t most) : most_(most) {}
  void Add(StepDurations durations);
  bool empty() const { return steps_.empty(); }
  StepDurations Median() const;

 private:
  size_t most_;
  size_t next_ = 0;
  std::vector<StepDurations> steps_;
};

}  // namespace horizon
