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

// Copies over a device's link, piece by piece, one lane a direction: what Adam and passes over host
// memory run beside on a machine with a GPU.
class DeviceLinkWorks {
 public:
  static constexpr Bytes kPieceBytes = 4_MiB;
  static constexpr Bytes kDeviceBytes = 2 * kPieceBytes;  // of the device's memory

  // The device outlives it. Errors of the device; ResourceExhausted without memory.
  static absl::StatusOr<std::unique_ptr<DeviceLinkWorks>> Create(Device& device);
  DeviceLinkWorks(const DeviceLinkWorks&) = delete;
  DeviceLinkWorks& operator=(const DeviceLinkWorks&) = delete;
  ~DeviceLinkWorks();

  // They refer to this object.
  const std::vector<LaneWork>& works() const { return works_; }

 private:
  explicit DeviceLinkWorks(Device& device) : device_(device) {}
  absl::Status Prepare();
  absl::Status CopyIn();
  absl::Status CopyOut();

  Device& device_;
  DeviceMemory there_;  // two pieces: in, out
  HostMemory here_;     // likewise, page-locked
  bool registered_ = false;
  StreamRef in_;
  StreamRef out_;
  EventRef in_done_;
  EventRef out_done_;
  std::vector<LaneWork> works_;
};

}  // namespace horizon
