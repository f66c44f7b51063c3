#pragma once

#include "absl/status/statusor.h"
#include "tests/kernels/cuda/resource_usage.h"

namespace horizon {

// The share of the warps a multiprocessor of the kernel's architecture can hold that are there when
// it is full of blocks of `threads` threads of this kernel. InvalidArgument for an architecture
// whose limits are not known here, or a block that cannot run on it.
absl::StatusOr<double> Occupancy(const KernelUsage& kernel, int threads);

}  // namespace horizon
