#include "common/cuda_status.h"
#include "runtime/device/cuda_device.h"
#include "runtime/device/cuda_survey.h"

namespace horizon {

absl::StatusOr<std::unique_ptr<Device>> MakeCudaDevice(const CudaDeviceOptions& /*options*/) {
  return NoCudaInBuild();
}

CudaSurvey SurveyCuda() { return {.usable = NoCudaInBuild()}; }

absl::StatusOr<CudaDeviceFacts> SelectCudaDevice(int /*index*/) { return NoCudaInBuild(); }

}  // namespace horizon
