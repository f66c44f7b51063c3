#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "tests/runtime/training_case.h"

namespace horizon {

// The run on a fake CUDA device that is begun anew, whose streams, blocks and threads go on in an
// order drawn from the seed. The request's device and kernels are set here. Internal when something
// of the device is left behind.
absl::StatusOr<RunOutcome> RunOnCuda(RunRequest request, uint64_t seed);

}  // namespace horizon
