#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "common/units.h"
#include "schedule/schedule.h"

namespace horizon {

// When each operation of some steps ran, or would run. The runtime measures one, the simulator
// predicts one, and both are compared, drawn and written by the same code.

struct TimelineEntry {
  int32_t step = 0;  // index in Timeline::steps
  OperationId operation = 0;
  Lane lane = Lane::kCompute;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  Bytes bytes;
};

enum class StepKind : uint8_t { kFirst, kSteady, kDrain };

struct Timeline {
  std::vector<StepKind> steps;
  std::vector<TimelineEntry> entries;  // grouped by step, in the order of the schedule

  int64_t end_ns() const;
};

const Phase& PhaseOf(const Schedule& schedule, StepKind kind);

// `first`, then steady steps up to `steps` in all, then `drain`.
std::vector<StepKind> StepsOf(const Schedule& schedule, int64_t steps);

// Every operation as early as its lane and its waits allow, with the given durations and nothing
// shared between lanes. Durations are not negative.
using NanosecondsOf = std::function<int64_t(const Operation&)>;
Timeline EarliestTimeline(const Schedule& schedule, std::vector<StepKind> steps,
                          const NanosecondsOf& nanoseconds_of);

// Durations to draw a schedule with when nothing is known of a machine: 25 GB/s a way, 100 TFLOPS,
// 50 GB/s of host memory, 5 us an operation. Not a prediction.
int64_t NominalNanoseconds(const Operation& operation);

}  // namespace horizon
