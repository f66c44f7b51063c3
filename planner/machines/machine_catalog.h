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

// The catalog of machines that are known by name. Their descriptions (planner/machines/*.json, see
// machine_description.h) are compiled into the program, so that a name works without any file.
struct MachineEntry {
  std::string_view name;  // in lower case: "gh200"; also the name of the file and of the profile
  std::string_view json;  // the text of its description
};

// All entries: the machines of the paper first, the others by class; those that can only be planned
// for are near the end. Valid as long as the program runs.
std::span<const MachineEntry> MachineCatalog();

// The entry with this name, in upper or lower case, or nullptr.
const MachineEntry* FindMachine(std::string_view name);

// All names in the order of the catalog, for help texts and "did you mean".
std::vector<std::string> MachineNames();

// The machine of the catalog that a user names on the command line, or nullptr if the words are the
// path of a file. They are tried in this order:
//   1. a catalog name in upper or lower case, which wins over a file of that name ("./gh200" means
//      the file),
//   2. a file or folder that exists,
//   3. the name as people say it (machine_names.h): "RTX 4090", "nvidia a100 80gb".
// InvalidArgument, with the names, if the words fit several machines; NotFound, with the nearest
// names and all names, if they fit none.
absl::StatusOr<const MachineEntry*> FindTypedMachine(Io& io, std::string_view name_or_file);

// Loads the machine of FindTypedMachine, or the profile in JSON that is named. Beside its errors,
// InvalidArgument with file, line and field if the file is invalid; the error of Io if it cannot be
// read.
absl::StatusOr<HardwareProfile> LoadMachine(Io& io, std::string_view name_or_file);

// The machines of the catalog that horizon runs on, in its order: what could be bought.
absl::StatusOr<std::vector<HardwareProfile>> RunnableMachines();

// The changes that a user may make to a machine on the command line. Each value is above zero
// (CHECK).
struct MachineOverrides {
  std::optional<Bytes> host_memory;
  std::optional<Bytes> device_memory;
  std::optional<BytesPerSecond> dram;  // highest rate of host memory, with all threads
  std::optional<BytesPerSecond> link;  // highest rate of one direction, from pinned memory
  // A limit for copies of any size in each direction, like --link of device `host`.
  std::optional<BytesPerSecond> link_limit;
  std::optional<int64_t> cores;
  std::string because = "given on the command line";  // the source of the changed figures
};

// The changes as text: "256 GiB of host memory, 3 cores"; empty if nothing is changed.
std::string OverridesText(const MachineOverrides& overrides);

// The machine with these figures replaced. They are marked as assumed and "given on the command
// line" (`because`), and the summary, which is shown above every answer, mentions them ("...; as if
// with 24 GiB of device memory").
//  - host_memory is what the process may use; a cgroup limit of the profile is dropped.
//  - dram scales the DRAM curve and all that is bound by it (scale_dram.h), also the link of a
//    machine whose device is the host, unless `link` is given too.
//  - link scales the curves of each direction, pageable ones too, so that the highest pinned rate
//    is the given one; the rate of both directions together is scaled alike.
//  - link_limit leaves the curves as they are and slows copies down to the limit.
//  - cores is the number of threads there may be. The curves by threads stay as they are; beyond
//    their last point they are constant.
HardwareProfile WithOverrides(HardwareProfile machine, const MachineOverrides& overrides);
// The first line of an answer, "rtx4090 (RTX 4090 with 24 GB ...)"; overrides are on a second line.
std::string MachineHeading(const HardwareProfile& machine);

// Makes a user's own machine: `base` with another name and with the figures that `changes`
// replaces. Its summary names the machine that it was made from. It counts as not measured.
HardwareProfile OwnMachine(const HardwareProfile& base, const MachineOverrides& changes,
                           const std::string& name);

// The machine with `factor` (above zero) times the processors and memory channels, as with a second
// socket or half of one. It scales the cores (rounded, at least one) and both axes of the curves by
// threads, so the rate of one thread stays. RAM, device and link stay. Used to compare upgrades.
HardwareProfile ScaledHost(HardwareProfile machine, double factor);

}  // namespace horizon
