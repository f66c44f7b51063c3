#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/units.h"
#include "runtime/checkpoint/state_part.h"
#include "runtime/execution/compute_device.h"
#include "runtime/execution/trainer.h"
#include "schedule/training_job.h"
#include "training/data_settings.h"
#include "training/initial_weights.h"

namespace horizon {

// How a plan is found.
struct PlanSettings {
  std::optional<std::string> file;     // none: the planner's choice
  std::optional<Bytes> device_memory;  // that the plan may use; none: what the profile has
  std::optional<BytesPerSecond> link;  // copies are held to this, each way; device host only
  std::optional<int64_t> cores;        // to plan with; none: all of the profile
};

// Which checkpoints are made.
struct SaveSettings {
  std::optional<SaveMode> mode = SaveMode::kFull;  // none: no checkpoints
  int64_t every = 500;                             // steps; 0: at the end or a signal only
  int64_t keep = 2;                                // of the newest
  bool must_succeed = false;                       // a save that fails ends the run
};

// Everything that a training is told, apart from the model itself. The job alone changes its
// numbers.
struct TrainingSettings {
  TrainingJob job;  // its model and data are named as the user named them
  DeviceName device;
  WeightSource initial_weights;
  DataSettings data;
  int64_t eval_every = 0;  // steps; 0: after the last only
  PlanSettings plan;
  SaveSettings save;
  NonFinitePolicy non_finite = NonFinitePolicy::kStop;
  bool log_gradient_norms = false;
  NumberType export_type = NumberType::kBf16;
  std::string folder;                 // of the run (run_folder.h)
  std::optional<std::string> resume;  // "auto", or the folder of a run or checkpoint
  std::string options_text;           // kept as train.yaml: what to go on with
};

}  // namespace horizon
