#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/text/str_cat.h"
#include "common/units.h"

namespace horizon {

// What CUDA reports about one device.
struct CudaDeviceFacts {
  int index = 0;  // the N of cuda:N
  std::string name;
  std::string bus_id;  // "00000000:65:00.0", as NVML writes it
  Bytes memory_bytes;
  Bytes free_bytes;  // free memory now; 0 where the device cannot be used
  int major = 0;     // compute capability
  int minor = 0;
  // Unavailable where the program has no code for the device, or the device does not answer.
  absl::Status usable;
};

// What CUDA reports about this machine. Versions are CUDA's numbers: 13000 is 13.0.
struct CudaSurvey {
  bool in_build = false;    // false: the program was built without CUDA
  int runtime_version = 0;  // the CUDA version that the program was built with
  int driver_version = 0;   // the newest CUDA version that the driver supports; 0: no driver
  // Unavailable, with the reason, when no CUDA device can be used at all: the build has no CUDA,
  // there is no driver, the driver is too old, or there is no device.
  absl::Status usable;
  std::vector<CudaDeviceFacts> devices;
};

// Queries every device. This takes some hundred milliseconds and, while it runs, some of each
// device's memory. A device that cannot be queried is reported in its `usable` field, not as an
// error.
CudaSurvey SurveyCuda();

// Makes the device the calling thread's current device (cudaSetDevice), if it can be used, and
// returns its facts. Errors as in CudaSurvey::usable and CudaDeviceFacts::usable; InvalidArgument
// for a device that does not exist.
absl::StatusOr<CudaDeviceFacts> SelectCudaDevice(int index);

// Whether the device's tensor cores support bf16; they do from compute capability 8.0 on. Without
// them cublasLt decides whether a bf16 GEMM exists at all, and kNoBf16TensorCores is the warning
// for such a device.
inline bool HasBf16TensorCores(const CudaDeviceFacts& facts) { return facts.major >= 8; }
inline constexpr char kNoBf16TensorCores[] =
    "its tensor cores do not take bf16 (those of compute capability 8.0 and later do): matrix "
    "products are many times slower, where cublasLt has them at all";

// Formats a CUDA version number: 13000 gives "13.0". Works in every build, also one without CUDA.
inline std::string CudaVersionText(int version) {
  return StrCat(version / 1000, ".", version % 1000 / 10);
}

}  // namespace horizon
