#pragma once

#include "common/cuda_result.h"

namespace horizon {

// Checks that the program contains device code for the calling thread's current device; if not,
// returns CUDA's error. All kernels are built for the same architectures, so an empty kernel is
// looked up in place of all of them.
CudaResult FindKernelImage();
// The architectures that the kernels were built for, as nvcc lists them: "750,800,900".
const char* BuiltArchitectures();

}  // namespace horizon
