#include "runtime/device/cuda_survey.h"

#include <cuda_runtime_api.h>

#include "absl/strings/str_format.h"
#include "common/cuda_result.cuh"
#include "common/cuda_status.h"
#include "common/failure_source.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "runtime/device/cuda_image.h"

namespace horizon {
namespace {

absl::Status Unavailable(const std::string& message) {
  return WithFailureSource(absl::UnavailableError(message), FailureSource::kDevice);
}

// CUDA keeps an error until it is asked for; this clears it.
cudaError_t Noted(cudaError_t error) {
  if (error != cudaSuccess) cudaGetLastError();
  return error;
}

void ReadVersions(CudaSurvey& survey) {
  if (Noted(cudaRuntimeGetVersion(&survey.runtime_version)) != cudaSuccess) {
    survey.runtime_version = 0;
  }
  if (Noted(cudaDriverGetVersion(&survey.driver_version)) != cudaSuccess) {
    survey.driver_version = 0;
  }
}

// Why there is not one device.
absl::Status WhyNone(cudaError_t error, const CudaSurvey& survey) {
  if (error == cudaErrorInsufficientDriver) {
    if (survey.driver_version == 0) return Unavailable("no NVIDIA driver is installed");
    return Unavailable(StrCat("the NVIDIA driver is too old: it serves CUDA ",
                              CudaVersionText(survey.driver_version), ", the program needs ",
                              CudaVersionText(survey.runtime_version), "; install a newer driver"));
  }
  if (error == cudaErrorNoDevice) return Unavailable("the NVIDIA driver finds no device");
  return ToStatus(ToResult(error), "count the CUDA devices");
}

absl::Status CountDevices(CudaSurvey& survey, int& count) {
  survey.in_build = true;
  ReadVersions(survey);
  const cudaError_t error = Noted(cudaGetDeviceCount(&count));
  if (error != cudaSuccess) return WhyNone(error, survey);
  if (count == 0) return WhyNone(cudaErrorNoDevice, survey);
  return absl::OkStatus();
}

absl::Status ReadProperties(int index, CudaDeviceFacts& facts) {
  facts.index = index;
  cudaDeviceProp properties{};
  const cudaError_t error = Noted(cudaGetDeviceProperties(&properties, index));
  if (error != cudaSuccess) return ToStatus(ToResult(error), StrCat("ask CUDA device ", index));
  facts.name = properties.name;
  facts.bus_id = absl::StrFormat("%08X:%02X:%02X.0", properties.pciDomainID, properties.pciBusID,
                                 properties.pciDeviceID);
  facts.memory_bytes = Bytes(properties.totalGlobalMem);
  facts.major = properties.major;
  facts.minor = properties.minor;
  return absl::OkStatus();
}

// Reads the free memory of the calling thread's current device.
absl::Status ReadFreeMemory(CudaDeviceFacts& facts) {
  size_t free = 0;
  size_t total = 0;
  const cudaError_t error = Noted(cudaMemGetInfo(&free, &total));
  facts.free_bytes = Bytes(free);
  return ToStatus(ToResult(error), StrCat("ask CUDA device ", facts.index, " for its free memory"));
}

// Makes the device the calling thread's current device and checks that there is code for it.
absl::Status CheckImage(CudaDeviceFacts& facts) {
  const cudaError_t error = Noted(cudaSetDevice(facts.index));
  if (error != cudaSuccess) {
    return ToStatus(ToResult(error),
                    StrCat("use CUDA device ", facts.index, " (", facts.name, ")"));
  }
  const CudaResult image = FindKernelImage();
  if (image.code == 0) return ReadFreeMemory(facts);
  cudaGetLastError();
  return ToStatus(
      image, StrCat("run on CUDA device ", facts.index, " (", facts.name, ", compute capability ",
                    facts.major, ".", facts.minor, ") what was built for ", BuiltArchitectures()));
}

}  // namespace

CudaSurvey SurveyCuda() {
  CudaSurvey survey;
  int count = 0;
  survey.usable = CountDevices(survey, count);
  for (int index = 0; survey.usable.ok() && index < count; ++index) {
    CudaDeviceFacts facts;
    facts.usable = ReadProperties(index, facts);
    if (facts.usable.ok()) facts.usable = CheckImage(facts);
    survey.devices.push_back(facts);
  }
  return survey;
}

absl::StatusOr<CudaDeviceFacts> SelectCudaDevice(int index) {
  CudaSurvey survey;
  int count = 0;
  RETURN_IF_ERROR(CountDevices(survey, count));
  if (index < 0 || index >= count) {
    return absl::InvalidArgumentError(StrCat("there is no device cuda:", index, "; there ",
                                             count == 1 ? "is " : "are ", count,
                                             ", counted from 0"));
  }
  CudaDeviceFacts facts;
  RETURN_IF_ERROR(ReadProperties(index, facts));
  RETURN_IF_ERROR(CheckImage(facts));
  return facts;
}

}  // namespace horizon
