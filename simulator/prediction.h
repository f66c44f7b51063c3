#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/model_spec.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"
#include "simulator/hardware_profile.h"
#include "simulator/memory_estimate.h"
#include "simulator/steady_state.h"

namespace horizon {

// A part of the machine that limits a run: if it were kEnlarged times as large or fast, a step
// would be shorter by the share `gain`. Limits are found by trying (planner/find_limits.h). A
// memory that is full is not a limit if more of it would change nothing.
struct RunLimit {
  std::string what;  // "link", "compute", "host DRAM", "device memory", ...
  double gain = 0;   // 0.2: a step would take 20 % less time
};
inline constexpr double kEnlarged = 1.25;
// For people: "link (a step 20 % shorter with 25 % more of it)".
std::string ToString(const RunLimit& limit);

// How a job would run under a plan on a machine: speed, memory and bottlenecks. All commands that
// predict use this struct.
struct Prediction {
  double step_seconds = 0;
  double tokens_per_second = 0;
  // 6 x active parameters x tokens per step / step seconds, in 10^12 flop/s. This is the convention
  // of the papers, which ignores attention and recompute.
  double model_tflops = 0;
  std::array<double, kLaneCount> busy_share{};  // of each lane, as a share of the step
  std::vector<Stall> stalls;                    // longest first
  MemoryEstimate memory;
  std::vector<Shortage> shortages;  // empty: it fits
  int64_t operations = 0;           // of a steady step
  // The parts that limit the speed, the largest gain first. Empty if no single part does, and until
  // the limits were looked for (planner/find_limits.h): PredictRun leaves it empty.
  std::vector<RunLimit> limits;

  bool fits() const { return shortages.empty(); }
};

// What a prediction is made for: a machine, how well the strategy's software uses it, and the share
// of each memory that must stay free.
struct Setting {
  const HardwareProfile& profile;
  Software software;
  double margin = 0;
};

// Builds the schedule and simulates it, even where it does not fit into memory (`shortages` says
// so). Errors are those of BuildSchedule.
absl::StatusOr<Prediction> Predict(const ModelSpec& spec, const TrainingJob& job,
                                   const StreamPlan& plan, const Setting& setting);
// The same for a schedule that is already built, together with the simulated timeline.
struct PredictedRun {
  Prediction prediction;
  SteadyState steady;
};
PredictedRun PredictRun(const ModelSpec& spec, const Schedule& schedule, const Setting& setting);

}  // namespace horizon
