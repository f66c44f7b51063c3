#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "common/host_memory.h"
#include "common/units.h"
#include "planner/profile/measure_contention.h"
#include "runtime/device/device.h"

namespace horizon {

// Copies over the PCIe link of a device, as workloads of the lanes h2d and d2h. On a machine with a
// GPU they are used to measure how copies, Adam and passes over host memory slow each other down.
class DeviceLinkWorkloads {
 public:
  static constexpr Bytes kPieceBytes = 4_MiB;
  static constexpr Bytes kDeviceBytes = 2 * kPieceBytes;  // device memory that it allocates

  // The device must outlive the workloads. Errors are those of the device, and ResourceExhausted if
  // there is too little memory.
  static absl::StatusOr<std::unique_ptr<DeviceLinkWorkloads>> Create(Device& device);
  DeviceLinkWorkloads(const DeviceLinkWorkloads&) = delete;
  DeviceLinkWorkloads& operator=(const DeviceLinkWorkloads&) = delete;
  ~DeviceLinkWorkloads();

  // The workloads use this object, so they must not outlive it.
  const std::vector<LaneWorkload>& workloads() const { return workloads_; }

 private:
  explicit DeviceLinkWorkloads(Device& device) : device_(device) {}
  absl::Status Prepare();
  absl::Status CopyIn();
  absl::Status CopyOut();

  Device& device_;
  DeviceMemory device_memory_;  // two pieces: one for each direction
  HostMemory host_memory_;      // two pieces, page-locked
  bool registered_ = false;
  StreamRef in_;
  StreamRef out_;
  EventRef in_done_;
  EventRef out_done_;
  std::vector<LaneWorkload> workloads_;
};

}  // namespace horizon
