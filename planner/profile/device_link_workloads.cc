#include "planner/profile/device_link_workloads.h"

#include <algorithm>

#include "common/status_macros.h"

namespace horizon {

absl::StatusOr<std::unique_ptr<DeviceLinkWorkloads>> DeviceLinkWorkloads::Create(Device& device) {
  std::unique_ptr<DeviceLinkWorkloads> workloads(new DeviceLinkWorkloads(device));
  RETURN_IF_ERROR(workloads->Prepare());
  return workloads;
}

absl::Status DeviceLinkWorkloads::Prepare() {
  ASSIGN_OR_RETURN(device_memory_, device_.Allocate(kDeviceBytes));
  ASSIGN_OR_RETURN(host_memory_, HostMemory::Create(2 * kPieceBytes));
  std::fill_n(host_memory_.data(), host_memory_.size(), std::byte{0x3C});
  RETURN_IF_ERROR(device_.RegisterHost(host_memory_.span()));
  registered_ = true;
  ASSIGN_OR_RETURN(in_, device_.CreateStream({.name = "beside in"}));
  ASSIGN_OR_RETURN(out_, device_.CreateStream({.name = "beside out"}));
  ASSIGN_OR_RETURN(in_done_, device_.CreateEvent());
  ASSIGN_OR_RETURN(out_done_, device_.CreateEvent());
  // What leaves must have come.
  RETURN_IF_ERROR(device_.CopyToDevice(out_, device_memory_.data() + kPieceBytes.value(),
                                       host_memory_.data(), kPieceBytes));
  RETURN_IF_ERROR(device_.Record(out_, out_done_));
  RETURN_IF_ERROR(device_.Await(out_done_));
  workloads_ = {{.lane = Lane::kH2d,
                 .what = "page-locked memory to the device",
                 .piece = [this] { return CopyIn(); }},
                {.lane = Lane::kD2h, .what = "the device to page-locked memory", .piece = [this] {
                   return CopyOut();
                 }}};
  return absl::OkStatus();
}

DeviceLinkWorkloads::~DeviceLinkWorkloads() {
  if (registered_) device_.UnregisterHost(host_memory_.span()).IgnoreError();
}

absl::Status DeviceLinkWorkloads::CopyIn() {
  RETURN_IF_ERROR(
      device_.CopyToDevice(in_, device_memory_.data(), host_memory_.data(), kPieceBytes));
  RETURN_IF_ERROR(device_.Record(in_, in_done_));
  return device_.Await(in_done_);
}

absl::Status DeviceLinkWorkloads::CopyOut() {
  RETURN_IF_ERROR(device_.CopyToHost(out_, host_memory_.data() + kPieceBytes.value(),
                                     device_memory_.data() + kPieceBytes.value(), kPieceBytes));
  RETURN_IF_ERROR(device_.Record(out_, out_done_));
  return device_.Await(out_done_);
}

}  // namespace horizon
