#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "app/command.h"
#include "app/options/option.h"
#include "common/units.h"
#include "runtime/execution/compute_device.h"

namespace horizon {

// --device of the commands that compute: host, cuda, cuda:N, or auto.
Option DeviceOption(std::string& value);

// The device that `word` means, and what is known of it. `auto` is the first CUDA device that can
// be used, else the host; the log says in one line which, and why. A CUDA device that is named and
// cannot be used is an error (Unavailable, InvalidArgument), never the host instead.
struct ChosenDevice {
  DeviceName name;
  // Of a CUDA device:
  std::string model;        // "NVIDIA A100"
  std::string description;  // "NVIDIA A100, 70.1 GiB of 79.2 GiB free"
  Bytes free_bytes;

  // What a run may take of it: what is free, less what its libraries take.
  Bytes usable_bytes() const;
};
absl::StatusOr<ChosenDevice> ChooseDevice(const CommandContext& context, const std::string& word);

}  // namespace horizon
