#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/kernel_context.h"
#include "common/log.h"
#include "common/units.h"
#include "kernels/kernel_table.h"
#include "runtime/device/device.h"
#include "schedule/training_job.h"

namespace horizon {

// Which device: `host`, or one of CUDA's, counted from 0.
struct DeviceName {
  DeviceKind kind = DeviceKind::kHost;
  int index = 0;
  friend bool operator==(const DeviceName&, const DeviceName&) = default;
};
std::string ToString(const DeviceName& name);  // "host", "cuda:1"
// "host", "cuda" (the first) or "cuda:N"; InvalidArgument for anything else.
absl::StatusOr<DeviceName> ParseDeviceName(std::string_view text);

// A device with everything that computing on it takes: its kernels, and what they keep between
// calls. That context outlives the device, whose streams use it.
struct ComputeDevice {
  std::unique_ptr<DeviceContext> context;  // null on the host
  std::unique_ptr<Device> device;
  const KernelTable* kernels = nullptr;
};

struct ComputeDeviceOptions {
  DeviceName name;
  Bytes capacity;                      // exactly what runs on it needs
  std::optional<BytesPerSecond> link;  // hold copies to this; host only (InvalidArgument)
  Clock& clock;                        // outlives the device
  Log* log = nullptr;                  // that a CUDA device warns on; outlives it too
};
// Errors of HostDevice::Create, MakeCudaDevice and KernelTable::make_device_context.
absl::StatusOr<ComputeDevice> OpenComputeDevice(const ComputeDeviceOptions& options);

}  // namespace horizon
