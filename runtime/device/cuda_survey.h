#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/text/str_cat.h"
#include "common/units.h"

namespace horizon {

struct CudaDeviceFacts {
  int index = 0;  // the N of cuda:N
  std::string name;
  std::string bus_id;  // "00000000:65:00.0", as NVML writes it
  Bytes memory_bytes;
  Bytes free_bytes;  // of them, now; 0 where the device cannot be used
  int major = 0;     // compute capability
  int minor = 0;
  // Unavailable where the program has no code for the device, or the device does not answer.
  absl::Status usable;
};

// What CUDA says of this machine. Versions as CUDA numbers them: 13000 is 13.0.
struct CudaSurvey {
  bool in_build = false;    // else the program was built without CUDA
  int runtime_version = 0;  // what the program was built with
  int driver_version = 0;   // the newest the driver serves; 0 where there is none
  // Unavailable, with the reason, where no CUDA device can be used at all: no CUDA in the build, no
  // driver, one that is too old, no device.
  absl::Status usable;
  std::vector<CudaDeviceFacts> devices;
};

// Asks each device, which takes some hundred milliseconds and, while it is asked, some of its
// memory. What cannot be asked is a fact, not an error.
CudaSurvey SurveyCuda();

// Makes the device the calling thread's, if it can be used, and tells of it. Errors as above;
// InvalidArgument for a device that is not there.
absl::StatusOr<CudaDeviceFacts> SelectCudaDevice(int index);

// Whether the device's tensor cores take bf16; those from compute capability 8.0 on do. Without, it
// is for cublasLt whether there is a product at all, and what is said of the device is this.
inline bool HasBf16TensorCores(const CudaDeviceFacts& facts) { return facts.major >= 8; }
inline constexpr char kNoBf16TensorCores[] =
    "its tensor cores do not take bf16 (those of compute capability 8.0 and later do): matrix "
    "products are many times slower, where cublasLt has them at all";

// "13.0", in every build.
inline std::string CudaVersionText(int version) {
  return StrCat(version / 1000, ".", version % 1000 / 10);
}

}  // namespace horizon
