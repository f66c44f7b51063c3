#include "schedule/timeline/timeline.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/check.h"

namespace horizon {

int64_t Timeline::end_ns() const {
  int64_t end = 0;
  for (const TimelineEntry& entry : entries) end = std::max(end, entry.end_ns);
  return end;
}

const Phase& PhaseOf(const Schedule& schedule, StepKind kind) {
  switch (kind) {
    case StepKind::kFirst:
      return schedule.first;
    case StepKind::kSteady:
      return schedule.steady;
    case StepKind::kDrain:
      break;
  }
  return schedule.drain;
}

std::vector<StepKind> StepsOf(const Schedule& schedule, int64_t steps) {
  std::vector<StepKind> kinds = {StepKind::kFirst};
  if (!schedule.steady.operations.empty()) {
    kinds.insert(kinds.end(), std::max<int64_t>(0, steps - 1), StepKind::kSteady);
  }
  if (!schedule.drain.operations.empty()) kinds.push_back(StepKind::kDrain);
  return kinds;
}

Timeline EarliestTimeline(const Schedule& schedule, std::vector<StepKind> steps,
                          const NanosecondsOf& nanoseconds_of) {
  Timeline timeline{.steps = std::move(steps)};
  std::array<int64_t, kLaneCount> lane_free{};
  size_t step_begin = 0;
  size_t previous_body = 0;
  for (size_t s = 0; s < timeline.steps.size(); ++s) {
    const Phase& phase = PhaseOf(schedule, timeline.steps[s]);
    step_begin = timeline.entries.size();
    for (size_t i = 0; i < phase.operations.size(); ++i) {
      const Operation& operation = phase.operations[i];
      int64_t& free = lane_free[static_cast<size_t>(operation.lane)];
      int64_t start = free;
      for (const Wait& wait : phase.WaitsOf(operation)) {
        CHECK(!wait.previous_step || s > 0);
        const size_t awaited = (wait.previous_step ? previous_body : step_begin) + wait.operation;
        CHECK(awaited < timeline.entries.size());
        start = std::max(start, timeline.entries[awaited].end_ns);
      }
      free = start + nanoseconds_of(operation);
      timeline.entries.push_back({.step = static_cast<int32_t>(s),
                                  .operation = static_cast<OperationId>(i),
                                  .lane = operation.lane,
                                  .start_ns = start,
                                  .end_ns = free,
                                  .bytes = operation.bytes});
    }
    previous_body = step_begin + phase.body_begin;
  }
  return timeline;
}

int64_t NominalNanoseconds(const Operation& operation) {
  constexpr int64_t kEach = 5000;
  // Bytes, or flops, in a nanosecond.
  constexpr uint64_t kLink = 25, kFlops = 100'000, kHost = 50;
  switch (operation.lane) {
    case Lane::kH2d:
    case Lane::kD2h:
      return kEach + static_cast<int64_t>(operation.bytes.value() / kLink);
    case Lane::kCompute:
      return kEach +
             static_cast<int64_t>(operation.flops / kFlops + operation.bytes.value() / kHost);
    case Lane::kHost:
    case Lane::kOptimizer:
      return kEach + static_cast<int64_t>(operation.bytes.value() / kHost);
  }
  return kEach;
}

}  // namespace horizon
