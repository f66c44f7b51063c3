#include "common/cuda_status.h"

#include "common/failure_source.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr int kMemoryAllocation = 2;         // cudaErrorMemoryAllocation
constexpr int kEccUncorrectable = 214;       // cudaErrorECCUncorrectable
constexpr int kNoKernelImage = 209;          // cudaErrorNoKernelImageForDevice
constexpr int kInvalidDeviceFunction = 98;   // what older devices say for the same
constexpr int kNotSupported = 801;           // cudaErrorNotSupported
constexpr int kUnsupportedPtxVersion = 222;  // an older driver cannot translate our PTX

absl::Status StatusOf(const CudaResult& result, std::string_view what) {
  const std::string message =
      StrCat("cannot ", what, ": ", result.text, " (CUDA error ", result.code, ")");
  if (result.no_device) {
    return absl::UnavailableError(StrCat(message, "; use the host device, or install a driver"));
  }
  switch (result.code) {
    case kMemoryAllocation:
      return absl::ResourceExhaustedError(message);
    case kNoKernelImage:
    case kInvalidDeviceFunction:
    case kUnsupportedPtxVersion:
      return absl::UnavailableError(
          StrCat(message, "; the program was not built for this device, use a release build"));
    case kNotSupported:
      return absl::UnavailableError(message);
    case kEccUncorrectable:
      return absl::InternalError(
          StrCat(message, "; the device's memory fails, see nvidia-smi -q -d ECC"));
    default:
      return absl::InternalError(message);
  }
}

}  // namespace

absl::Status NoCudaInBuild() {
  return WithFailureSource(
      absl::UnavailableError(
          "this build has no CUDA (nvcc was not found, or HORIZON_NO_CUDA=1 was set); use the host "
          "device, or install the CUDA toolkit and build again"),
      FailureSource::kDevice);
}

absl::Status ToStatus(const CudaResult& result, std::string_view what) {
  if (result.code == 0) return absl::OkStatus();
  return WithFailureSource(StatusOf(result, what), FailureSource::kDevice);
}

}  // namespace horizon
