#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/io.h"
#include "common/units.h"
#include "model/model_spec.h"
#include "planner/machine_speed.h"
#include "schedule/compare_timelines.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"
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
  const HardwareProfile& profile;  // of this machine, without the link limit
  int64_t steps = 7;               // the first is not measured; at least 2
};

struct MeasuredRun {
  // How fast the machine was just before the run, which the prediction is made from, and just
  // after.
  MachineSpeed speed_before;
  MachineSpeed speed_after;
  Prediction prediction;
  double step_seconds = 0;  // median over the steps after the first
  uint64_t host_peak_bytes = 0;
  uint64_t predicted_host_bytes = 0;
  uint64_t device_peak_bytes = 0;
  uint64_t arena_bytes = 0;
  uint64_t h2d_bytes = 0;  // over the link in a steady step
  uint64_t d2h_bytes = 0;
  TimelineComparison operations;
  std::vector<double> losses;

  double step_error() const { return step_seconds / prediction.step_seconds - 1; }
  // How much quicker (above zero) or slower the machine became meanwhile, by its products.
  double drift() const { return speed_after.products / speed_before.products - 1; }
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
