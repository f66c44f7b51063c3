#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "app/command.h"
#include "app/options/option.h"
#include "common/units.h"
#include "runtime/execution/compute_device.h"

namespace horizon {

// The option --device of the commands that compute: host, cuda, cuda:N, or auto.
Option DeviceOption(std::string& value);

// The device that a command runs on.
struct ChosenDevice {
  DeviceName name;
  // Set for a CUDA device only:
  std::string model;        // "NVIDIA A100"
  std::string description;  // "NVIDIA A100, 70.1 GiB of 79.2 GiB free"
  Bytes free_bytes;

  // How much of its memory a run may use: the free bytes, less what CUDA's libraries take.
  Bytes usable_bytes() const;
};
// Finds the device for the value of --device. `auto` is the first CUDA device that can be used,
// else the host; the log says in one line which device it is, and why. A CUDA device that is named
// but cannot be used is an error (Unavailable, InvalidArgument); the host never takes its place.
absl::StatusOr<ChosenDevice> ChooseDevice(const CommandContext& context, const std::string& word);

}  // namespace horizon
