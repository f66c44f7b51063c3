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

// When the operations of a steady step ran and should have run: timelines.json of a run folder.
// Everything is by operation of schedule.steady; times are nanoseconds since the first of them
// started.

struct OperationTimes {
  std::vector<int64_t> start_ns;
  std::vector<int64_t> end_ns;
  friend bool operator==(const OperationTimes&, const OperationTimes&) = default;
};

// What an operation waited for after its lane was free. `operation` is -1 where it was the lane
// itself, or nothing.
struct AwaitedOperation {
  OperationId operation = -1;
  bool previous_step = false;
  friend bool operator==(const AwaitedOperation&, const AwaitedOperation&) = default;
};

struct StepTimelines {
  OperationTimes predicted;
  std::vector<AwaitedOperation> awaited;  // as predicted
  int64_t step = 0;                       // the one that was measured; 0: none yet
  OperationTimes measured;                // of that step; empty: none yet
  StepDurations median_ns;                // over the last steady steps; empty: none yet

  int64_t operations() const { return static_cast<int64_t>(predicted.start_ns.size()); }
  friend bool operator==(const StepTimelines&, const StepTimelines&) = default;
};

// Of a step of a timeline that has each operation of schedule.steady once (CHECK).
OperationTimes TimesOf(const Schedule& schedule, const Timeline& timeline, int32_t step);
// The predicted part, from the step that a simulation reports; nothing measured yet. Empty where
// the schedule has no steady step.
StepTimelines PredictedTimelines(const Schedule& schedule, const SteadyState& steady);
// The measured step as a timeline of one steady step, as drawing and memory need it; `times` are of
// this schedule.
Timeline TimelineOf(const Schedule& schedule, const OperationTimes& times);

// A step of more operations than this is not kept: its file would be refused.
inline constexpr int64_t kMostTimelineOperations = 500'000;

std::string WriteTimelines(const StepTimelines& timelines);
// InvalidArgument "FILE:LINE: ..." for what is not one, has arrays of unequal length, or times that
// run backwards. `file` is for messages.
absl::StatusOr<StepTimelines> ReadTimelines(const std::string& file, std::string_view text);
absl::StatusOr<StepTimelines> LoadTimelines(Io& io, const std::string& path);

}  // namespace horizon
