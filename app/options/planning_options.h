#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "app/command.h"
#include "app/options/option.h"
#include "common/units.h"
#include "planner/machines/machine_catalog.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// The options that several planning commands share.

// --model and --machine. Where the target's default is kThisMachine, the machine is by default the
// one that the program runs on.
Option ModelOption(OptionTarget target);
Option MachineOption(OptionTarget target);
inline constexpr char kThisMachine[] = "this";

// The options that change figures of a machine: --host-memory, --device-memory, --dram, --link and
// --cores. Every command that answers a question about any machine has them; the first lines of the
// answer show what was changed.
struct OverrideOptions {
  std::optional<Bytes> host_memory;
  std::optional<Bytes> device_memory;
  std::optional<BytesPerSecond> dram;
  std::optional<BytesPerSecond> link;
  std::optional<int64_t> cores;

  void AddTo(OptionList& list);
  MachineOverrides Changes() const;
  bool any() const;  // whether one is given
  // The line below the heading of an answer about several machines, "  as if with 256 GiB of host
  // memory\n"; empty where nothing is changed.
  std::string HeadingLine() const;
  // Loads the machine and applies these changes. `machine` is a name of the catalog or a file,
  // loaded with its calibration; or kThisMachine: the cached profile, or one that is measured now.
  absl::StatusOr<HardwareProfile> Load(const CommandContext& context,
                                       const std::string& machine) const;
};

}  // namespace horizon
