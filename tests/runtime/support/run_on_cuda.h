#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "schedule/training_job.h"
#include "tests/runtime/support/training_case.h"

namespace horizon {

// The job on a CUDA device, with bf16 throughout.
TrainingJob OnCuda(TrainingJob job);

// The run on a fake CUDA device that is begun anew, whose streams, blocks and threads go on in an
// order drawn from the seed. The request's device and kernels are set here. Internal when something
// of the device is left behind.
absl::StatusOr<TrainingCaseOutcome> RunOnCuda(RunRequest request, uint64_t seed);

}  // namespace horizon
