#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "schedule/schedule.h"
#include "schedule/timeline/timeline.h"

namespace horizon {

// Compares the predicted with the measured duration of each operation of a step, from two timelines
// of one schedule. It compares durations, not start times: an operation that takes too long makes
// all later operations of its lane late, although only that one was predicted wrongly.

// A predicted and a measured duration.
struct Compared {
  double predicted = 0;  // seconds
  double measured = 0;
  double difference() const { return measured - predicted; }
};

// The sum over all operations of one lane.
struct LaneComparison {
  Lane lane = Lane::kCompute;
  int64_t operations = 0;
  Compared busy;  // sum of the durations
};

// The sum over all operations of one kind on one lane.
struct KindComparison {
  OperationKind kind = OperationKind::kForward;
  Lane lane = Lane::kCompute;
  int64_t operations = 0;
  Compared seconds;
};

// One operation of the step.
struct OperationComparison {
  OperationId operation = 0;
  std::string name;  // "backward attention_3..feed_forward_4, micro-batch 0"
  Lane lane = Lane::kCompute;
  Compared seconds;
};

// The comparison by lane, by kind and by operation.
struct TimelineComparison {
  std::vector<LaneComparison> lanes;        // lanes that have operations
  std::vector<KindComparison> kinds;        // largest difference (in either direction) first
  std::vector<OperationComparison> misses;  // largest difference first, at most `most`
};

// The duration of each operation of a steady step, in nanoseconds.
using StepDurations = std::vector<int64_t>;
// The durations of step number `step` of the timeline, which must be a steady one (CHECK).
StepDurations DurationsOf(const Schedule& schedule, const Timeline& timeline, int32_t step);

// `predicted` and `measured` must have one duration for each operation of schedule.steady (CHECK).
TimelineComparison CompareDurations(const Schedule& schedule, const StepDurations& predicted,
                                    const StepDurations& measured, size_t most = 5);

// Collects the durations of several steps and returns the mean of each operation. Steps whose
// operations took more than kOutlier times the median of all steps do not count
// (MeanWithoutOutliers in common/statistics.h).
class MeanDurations {
 public:
  // Keeps the last `most` steps.
  explicit MeanDurations(size_t most) : most_(most) {}
  void Add(StepDurations durations);
  bool empty() const { return steps_.empty(); }
  StepDurations Mean() const;  // needs at least one step (CHECK)

 private:
  size_t most_;
  size_t next_ = 0;
  std::vector<StepDurations> steps_;
};

}  // namespace horizon
