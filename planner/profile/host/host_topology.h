#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "simulator/machine_facts.h"

namespace horizon {

// How this machine is built: hwloc's word, or where it has none what /sys says. Takes some
// milliseconds. Errors as ReadSysTopology.
absl::StatusOr<HostTopology> ReadHostTopology(Io& io);

// The topology from /sys and /proc below `root` ("" is the machine's own). What the kernel does not
// tell is counted as one (sockets, nodes), as one a hardware thread (cores), or is 0 (caches).
// InvalidArgument when not even the processors are told; Io's errors.
absl::StatusOr<HostTopology> ReadSysTopology(Io& io, const std::string& root = "");

}  // namespace horizon
