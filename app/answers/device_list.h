#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planner/profile/host/host_limits.h"
#include "runtime/device/cuda_survey.h"
#include "runtime/device/nvml.h"

namespace horizon {

// What the NVIDIA driver reports through NVML. A device that cannot be read has an error in its
// place.
struct NvmlSurvey {
  std::string driver_version;
  std::vector<absl::StatusOr<NvmlDevice>> devices;
};
// Opens the NVML library of this name and reads all devices. Errors of Nvml::Open and CountDevices.
absl::StatusOr<NvmlSurvey> SurveyNvml(const std::string& library);

// The devices of a machine, from every source that reports them.
struct DeviceList {
  HostLimits host;
  CudaSurvey cuda;
  absl::StatusOr<NvmlSurvey> nvml;
};

// The answer of `horizon devices`: a table of the devices that can be used or at least seen, then a
// line for each thing a person should know (why a device is not used, a link below its best).
std::string DeviceListText(const DeviceList& list);
// The same as one JSON object; unknown values are null.
std::string DeviceListJson(const DeviceList& list);

}  // namespace horizon
