#include "runtime/execution/compute_device.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "runtime/device/cuda_device.h"
#include "runtime/device/host_device.h"

namespace horizon {
namespace {

absl::StatusOr<ComputeDevice> OpenHost(const ComputeDeviceOptions& options) {
  ComputeDevice opened{.kernels = &HostKernels()};
  ASSIGN_OR_RETURN(opened.device, HostDevice::Create({.capacity = options.capacity,
                                                      .to_device = options.link,
                                                      .to_host = options.link,
                                                      .clock = &options.clock}));
  return opened;
}

absl::StatusOr<ComputeDevice> OpenCuda(const ComputeDeviceOptions& options) {
  if (options.link.has_value()) {
    return absl::InvalidArgumentError(
        StrCat("--link holds copies of device host to a bandwidth; the link of device ",
               ToString(options.name), " is what it is: leave --link out"));
  }
  ComputeDevice opened{.kernels = &CudaKernels()};
  ASSIGN_OR_RETURN(opened.device, MakeCudaDevice({.index = options.name.index,
                                                  .capacity = options.capacity,
                                                  .clock = &options.clock,
                                                  .log = options.log}));
  // Of the device that is the thread's: the one just made.
  ASSIGN_OR_RETURN(opened.context, opened.kernels->make_device_context());
  return opened;
}

}  // namespace

std::string ToString(const DeviceName& name) {
  return name.kind == DeviceKind::kHost ? "host" : StrCat("cuda:", name.index);
}

absl::StatusOr<DeviceName> ParseDeviceName(std::string_view text) {
  if (text == "host") return DeviceName{};
  DeviceName name{.kind = DeviceKind::kCuda};
  if (text == "cuda") return name;
  absl::string_view number(text.data(), text.size());
  if (absl::ConsumePrefix(&number, "cuda:") && !number.empty() && number[0] >= '0' &&
      number[0] <= '9' && absl::SimpleAtoi(number, &name.index)) {
    return name;
  }
  return absl::InvalidArgumentError(
      StrCat("there is no device '", std::string(text), "': use host, cuda or cuda:N"));
}

absl::StatusOr<ComputeDevice> OpenComputeDevice(const ComputeDeviceOptions& options) {
  return options.name.kind == DeviceKind::kHost ? OpenHost(options) : OpenCuda(options);
}

}  // namespace horizon
