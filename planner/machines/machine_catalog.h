#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "common/units.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// Machines known by name. Their profiles (planner/machines/*.json) are part of the program, so a
// name works without any file beside it.
struct MachineEntry {
  std::string_view name;  // "gh200": lower case, the file's name and the profile's
  std::string_view json;  // the text of its profile
};

// The published machines first, then by class; lives as long as the program.
std::span<const MachineEntry> MachineCatalog();

// The entry of a name in any case, or nullptr.
const MachineEntry* FindMachine(std::string_view name);

// All names in the catalog's order: for help texts and "did you mean".
std::vector<std::string> MachineNames();

// The machine a person names on the command line: a catalog name in any case, else a profile in a
// JSON file, which is read once. A word that is a catalog name is one even if such a file exists
// ("./gh200" means the file).
// NotFound, with the nearest name and all of them, when it is neither; InvalidArgument with file,
// line and field when the file is bad; Io's error when it cannot be read.
absl::StatusOr<HardwareProfile> LoadMachine(Io& io, std::string_view name_or_file);

// What a person may change about a machine without writing a file. Each is above zero (CHECK).
struct MachineOverrides {
  std::optional<Bytes> host_memory;
  std::optional<Bytes> device_memory;
  std::optional<BytesPerSecond> link;  // highest rate of one direction, pinned
  // Copies of any size are held to this, each way, as device `host` does when told to.
  std::optional<BytesPerSecond> link_limit;
  std::optional<int64_t> cores;
};

// The machine with these figures instead, marked as assumed and "given on the command line"; the
// summary, which heads every answer, says them too ("...; as if with 24 GiB of device memory").
// host_memory is what the process may use: a cgroup limit of the profile goes. link scales the
// curves of each direction, pageable ones too, so that the highest pinned rate is the one given,
// and the rate of both ways likewise. link_limit leaves them and holds copies up. cores is how many
// threads there may be; the curves by threads stay, and are constant beyond their last point.
HardwareProfile WithOverrides(HardwareProfile machine, const MachineOverrides& overrides);
// "rtx4090 (RTX 4090 with 24 GB ...)", as answers begin; what was overridden is on a second line.
std::string MachineHeading(const HardwareProfile& machine);

// The machine with `factor` (above zero) times the processors and memory channels, as a second
// socket or half of one would give: cores (rounded, at least one), and the curves by threads with
// both axes scaled. What one thread reaches stays. RAM, device and link stay. For "what to buy".
HardwareProfile ScaledHost(HardwareProfile machine, double factor);

}  // namespace horizon
