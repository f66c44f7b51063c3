#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planner/profile/host/host_limits.h"
#include "runtime/device/cuda_survey.h"
#include "runtime/device/nvml.h"

namespace horizon {

// What the NVIDIA driver says when asked through NVML.
struct NvmlSurvey {
  std::string driver_version;
  std::vector<absl::StatusOr<NvmlDevice>> devices;
};
// Errors as Nvml::Open and CountDevices.
absl::StatusOr<NvmlSurvey> SurveyNvml(const std::string& library);

// The devices of a machine from all who know of them.
struct DeviceList {
  HostLimits host;
  CudaSurvey cuda;
  absl::StatusOr<NvmlSurvey> nvml;
};

// What `horizon devices` answers: a table of the devices that can be used or at least seen, then a
// line for each thing a person should know (why one is not used, a link below its best).
std::string DeviceListText(const DeviceList& list);
// The same as one JSON object; what is not known is null.
std::string DeviceListJson(const DeviceList& list);

}  // namespace horizon
