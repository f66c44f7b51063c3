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

// What a job would do under a plan on a machine: the answer every command gives, in one struct of
// named terms.
struct Prediction {
  double step_seconds = 0;
  double tokens_per_second = 0;
  // 6 x active parameters x tokens / step, in 10^12: the convention of the papers, whatever work is
  // really done.
  double model_tflops = 0;
  std::array<double, kLaneCount> busy_share{};
  std::vector<Stall> stalls;  // longest first
  MemoryEstimate memory;
  std::vector<Shortage> shortages;  // empty: it fits
  int64_t operations = 0;           // of a steady step

  bool fits() const { return shortages.empty(); }
};

// Where the prediction is made: a machine, what the strategy's software makes of it, and the share
// of each memory that must stay free.
struct Setting {
  const HardwareProfile& profile;
  Software software;
  double margin = 0;
};

// Builds the schedule and simulates it, also where memory lacks (`shortages` says so). Errors are
// BuildSchedule's.
absl::StatusOr<Prediction> Predict(const ModelSpec& spec, const TrainingJob& job,
                                   const StreamPlan& plan, const Setting& setting);
// As above, of a schedule that is built, with the timeline behind it.
struct PredictedRun {
  Prediction prediction;
  SteadyState steady;
};
PredictedRun PredictRun(const ModelSpec& spec, const Schedule& schedule, const Setting& setting);

// What keeps a run from being faster or larger, the tightest first: lanes by busy share, and
// memories by how full they are where that is at least kTightMemory; other memories come after the
// lanes. At most `most`.
struct RunLimit {
  std::string what;  // "compute", "link to the device", "host memory", ...
  double share = 0;  // of the step, or of the memory
  bool is_memory = false;
};
inline constexpr double kTightMemory = 0.9;
std::vector<RunLimit> LimitsOf(const Prediction& prediction, const HardwareProfile& profile,
                               size_t most = 3);
// "compute (97 % of the step)", "host memory (81 % full)".
std::string ToString(const RunLimit& limit);

}  // namespace horizon
