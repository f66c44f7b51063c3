#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "schedule/training_job.h"
#include "tests/runtime/support/training_case.h"

namespace horizon {

// Returns the job for a CUDA device, with bf16 throughout.
TrainingJob OnCuda(TrainingJob job);

// Runs the request on a new fake CUDA device, which executes its streams, thread blocks and threads
// in an order drawn from the seed. Sets the request's device and kernels. Internal when something
// of the device is leaked.
absl::StatusOr<TrainingCaseOutcome> RunOnCuda(RunRequest request, uint64_t seed);

}  // namespace horizon
