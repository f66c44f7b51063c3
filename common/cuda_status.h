#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "common/cuda_result.h"

namespace horizon {

// Converts the result of a CUDA call to a Status. The code is Unavailable if there is no device, or
// none that the kernels were built for; ResourceExhausted if device memory ran out; Internal for
// every other error. The status carries FailureSource::kDevice. `what` completes the message
// "cannot ...".
absl::Status ToStatus(const CudaResult& result, std::string_view what);

// Unavailable, with a message that this build has no CUDA. It carries FailureSource::kDevice.
absl::Status NoCudaInBuild();

// Calls `launch`, which calls launchers of .cu files and returns a CudaResult, and returns that as
// a Status:
//   return RunOnCuda("add a residual", [&] { return LaunchResidual(..., context.stream); });
// Without nvcc, cuda_library (cuda.bzl) leaves the .cu files out and sets HORIZON_NO_CUDA. Then
// `launch` is not called, so the launchers need not exist, and the result is NoCudaInBuild().
template <typename Launches>
absl::Status RunOnCuda(std::string_view what, const Launches& launch) {
#ifdef HORIZON_NO_CUDA
  return NoCudaInBuild();
#else
  return ToStatus(launch(), what);
#endif
}

}  // namespace horizon
