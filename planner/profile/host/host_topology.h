#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "simulator/machine_facts.h"

namespace horizon {

// Reads how this machine is built (sockets, cores, caches, NUMA nodes): from hwloc or, where hwloc
// finds nothing, from /sys. Takes some milliseconds. Errors as ReadSysTopology.
absl::StatusOr<HostTopology> ReadHostTopology(Io& io);

// Reads the topology from /sys and /proc below `root` ("" for this machine). Where the kernel does
// not report something, there is one socket or node, one core for each hardware thread, and 0 for
// caches. InvalidArgument if not even the processors are reported; otherwise errors of Io.
absl::StatusOr<HostTopology> ReadSysTopology(Io& io, const std::string& root = "");

}  // namespace horizon
