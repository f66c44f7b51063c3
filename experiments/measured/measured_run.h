#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/files/io.h"
#include "common/units.h"
#include "model/model_spec.h"
#include "planner/profile/machine_speed.h"
#include "schedule/schedule.h"
#include "schedule/stream_plan.h"
#include "schedule/timeline/compare_timelines.h"
#include "schedule/training_job.h"
#include "simulator/cost_model.h"
#include "simulator/hardware_profile.h"
#include "simulator/prediction.h"

namespace horizon {

// A training run that is made to be measured: some steps of a model with random weights and tokens
// on device `host`, beside what was predicted of it. Nothing is saved.
struct MeasuredCase {
  std::string name;
  ModelSpec spec;
  TrainingJob job;  // its number of steps plays no part
  StreamPlan plan;
  std::optional<BytesPerSecond> link;  // copies are held to this, each way
};

struct MeasuredOptions {
  Io& io;
  Clock& clock;
  const HardwareProfile& profile;          // of this machine, without the link limit
  const HardwareProfile* other = nullptr;  // predicted from beside it; may be null
  // Made in bursts of kBurstSteps, of which the first step is not measured; at least 2.
  int64_t steps = 15;
  // At the machine's speed, before each burst and after the last; the first is twice as long.
  Seconds look{1.2};
};
inline constexpr int64_t kBurstSteps = 5;
inline constexpr size_t kRecentLooks = 3;

// Some steps in a row between two looks at the machine's speed. A machine that is shared with
// others does not keep its speed for a whole run; for a second or two it mostly does.
struct MeasuredBurst {
  MachineSpeed before;
  MachineSpeed after;
  // Seconds a step, at the mean of the last kRecentLooks looks before it: one alone says little of
  // a machine that is held up now and then.
  double predicted = 0;
  double predicted_during = 0;    // at the mean of both speeds, which is known only afterwards
  double predicted_by_other = 0;  // as `predicted`, from the other profile
  double measured = 0;            // median over the steps after the first
};

struct MeasuredRun {
  std::vector<MeasuredBurst> bursts;  // at least one
  Prediction prediction;              // at the speed before the first burst
  double usual_step_seconds = 0;      // predicted at the profile's own speed
  Bytes host_peak_bytes;
  Bytes predicted_host_bytes;
  Bytes device_peak_bytes;
  Bytes arena_bytes;
  Bytes h2d_bytes;  // over the link in a steady step
  Bytes d2h_bytes;
  Schedule schedule;
  Software software;        // that predictions were made with
  StepDurations durations;  // of a steady step, medians
  TimelineComparison operations;
  std::vector<double> losses;

  // Medians over the bursts: what was predicted before, what was measured, and how far off that
  // was.
  double predicted_seconds() const;
  double step_seconds() const;
  double step_error() const;
  double other_error() const;  // of the other profile's predictions
  // How far off predictions are that know the speed the machine had during the burst.
  double error_during() const;
  // What a step would have taken with the machine as fast as when it was profiled: for comparing
  // runs that were made at different speeds.
  double step_at_usual_speed() const { return usual_step_seconds * (1 + error_during()); }
  // The furthest that the speed of products moved within a burst.
  double drift() const;
  MachineSpeed mean_speed() const;  // over the bursts
};

// FailedPrecondition and InvalidArgument where the case cannot run (BuildSchedule's,
// CheckRunnable's); errors of the run.
absl::StatusOr<MeasuredRun> RunMeasured(const MeasuredCase& wanted, const MeasuredOptions& options);

// A model of these sizes, with as many key heads as heads. `hidden` is a multiple of kHeadDim
// (CHECK).
inline constexpr int64_t kHeadDim = 64;
struct ModelShape {
  int64_t layers = 4;
  int64_t hidden = 256;
  int64_t intermediate = 688;
  int64_t vocab = 4096;
};
ModelSpec ModelOf(const ModelShape& shape);

}  // namespace horizon
