#pragma once

#include <string>

#include "tests/fake_cuda/include/fake_cuda_launch.h"
#include "tests/fake_cuda/random.h"

namespace fake_cuda {

// Runs all blocks of a launch, one after the other in a random order, the threads of each as
// fibers that switch at barriers and shuffles only. Device memory is open. One caller at a time.
// A block that cannot go on (a barrier that not all reach) is a fault and, where faults are
// collected, is left where it stands.
void RunGrid(const KernelLaunch& launch, Random& random);

// ", in the kernel launched at FILE:LINE (FUNCTION), block (x, y, z), thread (x, y, z)" while a
// kernel runs; else empty. Async-signal-safe enough for a handler that ends the process.
std::string DescribeRunningThread();

}  // namespace fake_cuda
