#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "common/units.h"
#include "schedule/schedule.h"

namespace horizon {

// A Timeline says when each operation of some steps ran, or would run. The runtime measures
// timelines and the simulator predicts them; the same code compares, draws and writes both.

// When one operation of one step ran.
struct TimelineEntry {
  int32_t step = 0;  // index in Timeline::steps
  OperationId operation = 0;
  Lane lane = Lane::kCompute;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  Bytes bytes;
};

// Which phase of a schedule a step of a timeline executes.
enum class StepKind : uint8_t { kFirst, kSteady, kDrain };

// The steps of a timeline and the times of their operations.
struct Timeline {
  std::vector<StepKind> steps;
  std::vector<TimelineEntry> entries;  // grouped by step, in the order of the schedule

  int64_t end_ns() const;
};

const Phase& PhaseOf(const Schedule& schedule, StepKind kind);

// The steps of a run: `first`, then steady steps up to `steps` in all, then `drain`. A schedule
// without steady operations has only the first; one without drain operations has no drain.
std::vector<StepKind> StepsOf(const Schedule& schedule, int64_t steps);

// Starts every operation as early as its lane and its waits allow, with the given durations, as if
// lanes never slowed each other down. Durations must not be negative.
using NanosecondsOf = std::function<int64_t(const Operation&)>;
Timeline EarliestTimeline(const Schedule& schedule, std::vector<StepKind> steps,
                          const NanosecondsOf& nanoseconds_of);

// Durations for drawing a schedule when no machine is known: 25 GB/s in each direction, 100 TFLOPS,
// 50 GB/s of host memory, 5 us per operation. This is not a prediction.
int64_t NominalNanoseconds(const Operation& operation);

}  // namespace horizon
