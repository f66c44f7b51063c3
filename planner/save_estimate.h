#pragma once

#include <cstdint>

#include "common/units.h"
#include "model/model_spec.h"
#include "schedule/training_job.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// What a checkpoint of a job takes: its tensors, without the headers of their files, and the time
// of writing them at the disk's rate; where the profile knows no disk that is assumed to be
// kAssumedDisk. `train` measures the disk it writes to.
struct SaveEstimate {
  Bytes bytes;          // --save full
  Bytes weights_bytes;  // --save weights
  double bytes_per_second = 0;
  bool assumed = false;

  double seconds() const { return static_cast<double>(bytes) / bytes_per_second; }
};
inline constexpr double kAssumedDisk = 1e9;

SaveEstimate EstimateSave(const ModelSpec& spec, const TrainingJob& job,
                          const HardwareProfile& profile);

}  // namespace horizon
