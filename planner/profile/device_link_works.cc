#include "planner/profile/device_link_works.h"

#include <algorithm>

#include "common/status_macros.h"

namespace horizon {

absl::StatusOr<std::unique_ptr<DeviceLinkWorks>> DeviceLinkWorks::Create(Device& device) {
  std::unique_ptr<DeviceLinkWorks> works(new DeviceLinkWorks(device));
  RETURN_IF_ERROR(works->Prepare());
  return works;
}

absl::Status DeviceLinkWorks::Prepare() {
  ASSIGN_OR_RETURN(there_, device_.Allocate(kDeviceBytes));
  ASSIGN_OR_RETURN(here_, HostMemory::Create(2 * kPieceBytes));
  std::fill_n(here_.data(), here_.size(), std::byte{0x3C});
  RETURN_IF_ERROR(device_.RegisterHost(here_.span()));
  registered_ = true;
  ASSIGN_OR_RETURN(in_, device_.CreateStream({.name = "beside in"}));
  ASSIGN_OR_RETURN(out_, device_.CreateStream({.name = "beside out"}));
  ASSIGN_OR_RETURN(in_done_, device_.CreateEvent());
  ASSIGN_OR_RETURN(out_done_, device_.CreateEvent());
  // What leaves must have come.
  RETURN_IF_ERROR(
      device_.CopyToDevice(out_, there_.data() + kPieceBytes.value(), here_.data(), kPieceBytes));
  RETURN_IF_ERROR(device_.Record(out_, out_done_));
  RETURN_IF_ERROR(device_.Await(out_done_));
  works_ = {{.lane = Lane::kH2d,
             .what = "page-locked memory to the device",
             .piece = [this] { return CopyIn(); }},
            {.lane = Lane::kD2h, .what = "the device to page-locked memory", .piece = [this] {
               return CopyOut();
             }}};
  return absl::OkStatus();
}

DeviceLinkWorks::~DeviceLinkWorks() {
  if (registered_) device_.UnregisterHost(here_.span()).IgnoreError();
}

absl::Status DeviceLinkWorks::CopyIn() {
  RETURN_IF_ERROR(device_.CopyToDevice(in_, there_.data(), here_.data(), kPieceBytes));
  RETURN_IF_ERROR(device_.Record(in_, in_done_));
  return device_.Await(in_done_);
}

absl::Status DeviceLinkWorks::CopyOut() {
  RETURN_IF_ERROR(device_.CopyToHost(out_, here_.data() + kPieceBytes.value(),
                                     there_.data() + kPieceBytes.value(), kPieceBytes));
  RETURN_IF_ERROR(device_.Record(out_, out_done_));
  return device_.Await(out_done_);
}

}  // namespace horizon
