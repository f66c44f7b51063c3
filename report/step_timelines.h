#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "schedule/schedule.h"
#include "schedule/timeline/compare_timelines.h"
#include "schedule/timeline/timeline.h"
#include "simulator/steady_state.h"

namespace horizon {

// The predicted and the measured times of the operations of a steady step: timelines.json of a run
// folder. All vectors have one entry for each operation of schedule.steady. Times are nanoseconds
// since the first operation started.

// The times of all operations of the step.
struct OperationTimes {
  std::vector<int64_t> start_ns;
  std::vector<int64_t> end_ns;
  friend bool operator==(const OperationTimes&, const OperationTimes&) = default;
};

// The operation that another one waited for after its lane was free. `operation` is -1 if it waited
// only for the lane itself, or for nothing.
struct AwaitedOperation {
  OperationId operation = -1;
  bool previous_step = false;
  friend bool operator==(const AwaitedOperation&, const AwaitedOperation&) = default;
};

// The contents of timelines.json.
struct StepTimelines {
  OperationTimes predicted;
  std::vector<AwaitedOperation> awaited;  // in the prediction
  int64_t step = 0;                       // number of the measured step; 0: none yet
  OperationTimes measured;                // of that step; empty: none yet
  StepDurations mean_ns;                  // over the last steady steps; empty: none yet

  int64_t operations() const { return static_cast<int64_t>(predicted.start_ns.size()); }
  friend bool operator==(const StepTimelines&, const StepTimelines&) = default;
};

// The times of one step of a timeline. The step must have each operation of schedule.steady once
// (CHECK).
OperationTimes TimesOf(const Schedule& schedule, const Timeline& timeline, int32_t step);
// The timelines of a prediction, from the step that a simulation reports, without measured times.
// Empty if that step is not a steady one.
StepTimelines PredictedTimelines(const Schedule& schedule, const SteadyState& steady);
// Times of a step as a Timeline of one steady step, for drawing and for the memory over time.
// `times` must be of this schedule.
Timeline TimelineOf(const Schedule& schedule, const OperationTimes& times);

// A step with more operations than this is not kept, since its file would be refused.
inline constexpr int64_t kMostTimelineOperations = 500'000;

std::string WriteTimelines(const StepTimelines& timelines);
// InvalidArgument "FILE:LINE: ..." for an invalid file, arrays of unequal length, or an operation
// that ends before it starts. `file` is for messages.
absl::StatusOr<StepTimelines> ReadTimelines(const std::string& file, std::string_view text);
absl::StatusOr<StepTimelines> LoadTimelines(Io& io, const std::string& path);

}  // namespace horizon
