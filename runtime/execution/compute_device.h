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

// Names a device: the host, or a CUDA device by its index from 0.
struct DeviceName {
  DeviceKind kind = DeviceKind::kHost;
  int index = 0;
  friend bool operator==(const DeviceName&, const DeviceName&) = default;
};
std::string ToString(const DeviceName& name);  // "host", "cuda:1"
// Parses "host", "cuda" (the first CUDA device) or "cuda:N"; InvalidArgument for anything else.
absl::StatusOr<DeviceName> ParseDeviceName(std::string_view text);

// A device with everything that computing on it needs: its kernels, and the context that the
// kernels keep between calls. The context outlives the device, because the device's streams use it.
struct ComputeDevice {
  std::unique_ptr<DeviceContext> context;  // null on the host
  std::unique_ptr<Device> device;
  const KernelTable* kernels = nullptr;
};

// How OpenComputeDevice opens a device.
struct ComputeDeviceOptions {
  DeviceName name;
  Bytes capacity;                      // device memory to reserve: exactly what the run needs
  std::optional<BytesPerSecond> link;  // limits copy bandwidth; host only (else InvalidArgument)
  Clock& clock;                        // outlives the device
  Log* log = nullptr;                  // receives warnings of a CUDA device; outlives it
};
// Opens a device. Errors are those of HostDevice::Create, MakeCudaDevice and
// KernelTable::make_device_context.
absl::StatusOr<ComputeDevice> OpenComputeDevice(const ComputeDeviceOptions& options);

}  // namespace horizon
