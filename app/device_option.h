#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "app/command.h"
#include "app/option.h"
#include "runtime/compute_device.h"

namespace horizon {

// --device of the commands that compute: host, cuda, cuda:N, or auto.
Option DeviceOption(std::string& value);

// The device that `word` means, and what is known of it. `auto` is the first CUDA device that can
// be used, else the host; the log says in one line which, and why. A CUDA device that is named and
// cannot be used is an error (Unavailable, InvalidArgument), never the host instead.
struct ChosenDevice {
  DeviceName name;
  std::string description;  // "NVIDIA A100, 79.15 GiB"; empty for the host
  // What a run may take of a CUDA device: what is free, less what its libraries take.
  uint64_t usable_bytes() const;

  uint64_t memory_bytes = 0;  // of a CUDA device: all
  uint64_t free_bytes = 0;    // and free now
};
absl::StatusOr<ChosenDevice> ChooseDevice(const CommandContext& context, const std::string& word);

}  // namespace horizon
