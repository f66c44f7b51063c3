#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "app/command.h"
#include "app/options/option.h"
#include "common/units.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// Options that several planning commands share, declared once.

// --model and --machine, which every question needs. A machine that is not given is the one the
// program runs on, where the target's default is kThisMachine.
Option ModelOption(OptionTarget target);
Option MachineOption(OptionTarget target);
inline constexpr char kThisMachine[] = "this";

// What is changed about a machine: --host-memory, --device-memory, --link, --cores.
struct OverrideOptions {
  std::optional<Bytes> host_memory;
  std::optional<Bytes> device_memory;
  std::optional<BytesPerSecond> link;
  std::optional<int64_t> cores;

  void AddTo(OptionList& list);
  // The machine named (catalog or file, calibrated; or this one, as it was measured or is now),
  // with these changes.
  absl::StatusOr<HardwareProfile> Load(const CommandContext& context,
                                       const std::string& machine) const;
};

}  // namespace horizon
