#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "common/cuda_result.h"

namespace horizon {

// Unavailable where there is no device, or none that the kernels were built for; ResourceExhausted
// when memory is out; else Internal. Marked as a failure of the device. `what` reads after
// "cannot ".
absl::Status ToStatus(const CudaResult& result, std::string_view what);

// Unavailable: the build has no CUDA.
absl::Status NoCudaInBuild();

// What `launch` says, which calls launchers and returns a CudaResult. Where cuda_library (cuda.bzl)
// has no nvcc it compiles without them and sets HORIZON_NO_CUDA: then `launch` is not called, so
// that no launcher need exist, and the answer is NoCudaInBuild().
template <typename Launches>
absl::Status RunOnCuda(std::string_view what, const Launches& launch) {
#ifdef HORIZON_NO_CUDA
  return NoCudaInBuild();
#else
  return ToStatus(launch(), what);
#endif
}

}  // namespace horizon
