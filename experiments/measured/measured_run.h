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

inline constexpr int64_t kBurstSteps = 5;
inline constexpr int64_t kMostBurstSteps = 100;  // more than burst_steps for short steps
inline constexpr size_t kRecentSpeeds = 3;

// Makes a short training run in order to compare its measured times and memory with the prediction:
// some steps of a model with random weights and tokens on device `host`. Nothing is saved.
struct MeasuredCase {
  std::string name;
  ModelSpec spec;
  // Its number of steps is not used. Rows are packed with samples of its sample_lengths, one length
  // after the other; so what is predicted is what is run.
  TrainingJob job;
  StreamPlan plan;
  std::optional<BytesPerSecond> link;  // limit of the copy bandwidth in each direction
  // Steps between two measurements of the machine's speed, at least 2. A model whose steps take
  // many seconds makes shorter bursts, and as many of them as the others.
  int64_t burst_steps = kBurstSteps;
};

// Options of RunMeasured. References and pointers outlive the call.
struct MeasuredOptions {
  Io& io;
  Clock& clock;
  const HardwareProfile& profile;          // of this machine, without the link limit
  const HardwareProfile* other = nullptr;  // a second profile to predict from; may be null
  // Number of steps, at least 2, of a case with bursts of kBurstSteps; the other cases make as many
  // bursts. The first step of a burst is not measured.
  int64_t steps = 15;
  // How long a burst takes at least, without its first step. A machine that is shared is held up
  // for moments, some of them every half second: a burst should contain its share of them.
  Seconds burst_time;
  // How long each measurement of the machine's speed takes. The speed is measured before each burst
  // and after the last; the first measurement takes twice as long.
  Seconds speed_time{1.2};
};

// Some steps in a row between two measurements of the machine's speed. A machine that is shared
// with others does not keep its speed for a whole run, but mostly does for a second or two.
struct MeasuredBurst {
  MachineSpeed before;
  MachineSpeed after;
  // Step times in seconds. `predicted` is at the speed that the last kRecentSpeeds measurements
  // before the burst make one expect (ExpectSpeed).
  double predicted = 0;
  double predicted_during = 0;    // at the mean of both speeds, which is known only afterwards
  double predicted_by_other = 0;  // as `predicted`, from the other profile
  double measured = 0;            // mean over the steps after the first, without outliers
};

// The predicted and measured values of a run.
struct MeasuredRun {
  std::vector<MeasuredBurst> bursts;  // at least one
  Prediction prediction;              // at the speed before the first burst
  double usual_step_seconds = 0;      // step time predicted at the profile's own speed
  Bytes host_peak_bytes;
  Bytes predicted_host_bytes;
  Bytes device_peak_bytes;
  Bytes arena_bytes;
  Bytes h2d_bytes;  // copied over the link in a steady step
  Bytes d2h_bytes;
  Schedule schedule;
  Software software;        // the predictions were made with it
  StepDurations durations;  // means over the measured steps
  TimelineComparison operations;
  std::vector<double> losses;
  // Of the machine over all bursts, as all measurements of it make one expect (ExpectSpeed).
  MachineSpeed expected_speed;

  // Medians over the bursts: the step time predicted before the burst, the measured one, and the
  // error, measured / predicted - 1.
  double predicted_seconds() const;
  double step_seconds() const;
  double step_error() const;
  double other_error() const;  // the error of the other profile's predictions
  // The error of predictions for the speed that the machine had during the burst.
  double error_during() const;
  // The step time converted to the speed that the machine had when it was profiled, for comparing
  // runs that were made at different speeds.
  double step_at_usual_speed() const { return usual_step_seconds * (1 + error_during()); }
  // The largest relative change of the GEMM speed within a burst.
  double drift() const;
};

// Makes and measures the run. ResourceExhausted if it needs more memory than the process may use;
// FailedPrecondition and InvalidArgument if the case cannot run (errors of BuildSchedule and
// CheckRunnable); errors of the run.
absl::StatusOr<MeasuredRun> RunMeasured(const MeasuredCase& wanted, const MeasuredOptions& options);

// A model of these sizes with as many key-value heads as heads. `hidden` must be a multiple of
// kHeadDim (CHECK).
inline constexpr int64_t kHeadDim = 64;
// The sizes of a model for such a run.
struct ModelShape {
  int64_t layers = 4;
  int64_t hidden = 256;
  int64_t intermediate = 688;
  int64_t vocab = 4096;
};
ModelSpec ModelOf(const ModelShape& shape);

}  // namespace horizon
