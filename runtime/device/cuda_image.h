#pragma once

#include "common/cuda_result.h"

namespace horizon {

// Whether the program has device code for the calling thread's device. The kernels are all built
// for the same architectures; one that does nothing stands for them.
CudaResult FindKernelImage();
// The architectures they were built for, as nvcc writes them: "750,800,900".
const char* BuiltArchitectures();

}  // namespace horizon
