#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/units.h"
#include "runtime/checkpoint/state_part.h"
#include "runtime/execution/compute_device.h"
#include "runtime/execution/trainer.h"
#include "runtime/loop/metrics_sink.h"
#include "schedule/training_job.h"
#include "training/data_settings.h"
#include "training/initial_weights.h"

namespace horizon {

// How the plan of a run is found.
struct PlanSettings {
  std::optional<std::string> file;     // a plan file; none: the planner searches for a plan
  std::optional<Bytes> device_memory;  // the plan may use this much; none: all that the profile has
  std::optional<BytesPerSecond> link;  // limits copies in each direction; host device only
  std::optional<int64_t> cores;        // CPU cores to plan with; none: all that the profile has
};

// When checkpoints are saved, and which ones are kept.
struct SaveSettings {
  std::optional<SaveMode> mode = SaveMode::kFull;  // none: no checkpoints
  int64_t every = 500;                             // steps; 0: only at the end or after a signal
  int64_t keep = 2;                                // how many of the newest stay on disk
  bool must_succeed = false;                       // whether a failed save ends the run
};

// All settings of a training run, except for the model itself. Only `job` changes the numbers that
// training computes.
struct TrainingSettings {
  // Names the model and the data as the user did. With epochs above 0 its steps are not read: the
  // data has so many (PreparedTraining::job).
  TrainingJob job;
  DeviceName device;
  WeightSource initial_weights;
  DataSettings data;
  int64_t eval_every = 0;  // steps; 0: only after the last step
  PlanSettings plan;
  SaveSettings save;
  NonFinitePolicy non_finite = NonFinitePolicy::kStop;
  bool log_gradient_norms = false;
  std::vector<MetricsFormat> metrics;  // written besides the .jsonl files
  NumberType export_type = NumberType::kBf16;
  std::string folder;                 // the run folder (run_folder.h)
  std::optional<std::string> resume;  // "auto", or the folder of a run or a checkpoint
  // Of a run that goes on with more steps or another learning-rate schedule: weights and moments
  // stay, and the schedule begins anew after the checkpoint's step (TrainingJob::schedule_start).
  bool restart_schedule = false;
  std::string options_text;  // written as train.yaml, to resume the run with
};

}  // namespace horizon
