#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "simulator/machine_facts.h"

namespace horizon {

// The topology of this machine as hwloc finds it: everything there is, not only what this process
// may use. Needs no root. `synthetic` (hwloc's words, "pack:2 core:4 pu:2") describes a made-up
// machine instead; InvalidArgument when it does not. Unavailable where hwloc finds nothing, or was
// told by its own environment variables (HWLOC_XMLFILE, ...) to look at another machine.
absl::StatusOr<HostTopology> ReadHwlocTopology(const std::string& synthetic = "");

}  // namespace horizon
