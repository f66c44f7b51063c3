#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "simulator/machine_facts.h"

namespace horizon {

// Reads the topology of this machine with hwloc: everything there is, not only what this process
// may use. It needs no root privileges. For tests, `synthetic` describes another machine in hwloc's
// syntax ("pack:2 core:4 pu:2"); InvalidArgument if it is not valid. Unavailable where hwloc finds
// nothing, or where its environment variables (HWLOC_XMLFILE, ...) make it describe another
// machine.
absl::StatusOr<HostTopology> ReadHwlocTopology(const std::string& synthetic = "");

}  // namespace horizon
