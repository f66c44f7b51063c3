#pragma once

#include <cstdint>

#include "common/units.h"
#include "model/model_spec.h"
#include "schedule/training_job.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// Estimates the size of a checkpoint and the time to write it. The size counts the tensors without
// the headers of their files. The rate is that of the profile's first disk, or
// kAssumedDiskBytesPerSecond where the profile has none. (`horizon train` measures the disk it
// writes to.)
struct SaveEstimate {
  Bytes bytes;          // --save full
  Bytes weights_bytes;  // --save weights
  double bytes_per_second = 0;
  bool assumed = false;  // the rate is kAssumedDiskBytesPerSecond

  double seconds() const { return static_cast<double>(bytes) / bytes_per_second; }
};
inline constexpr double kAssumedDiskBytesPerSecond = 1e9;

SaveEstimate EstimateSave(const ModelSpec& spec, const TrainingJob& job,
                          const HardwareProfile& profile);

}  // namespace horizon
