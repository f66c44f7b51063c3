#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/io.h"
#include "common/units.h"

namespace horizon {

// What this machine has and what this process may use of it, as the kernel says (man 5 proc,
// man 7 cgroups).
struct HostLimits {
  std::string processor;  // its name in /proc/cpuinfo; "" where there is none
  Bytes total_memory;
  Bytes available_memory;  // could be taken now without swapping
  // The least limit of the process's control groups up the tree, of either version.
  std::optional<Bytes> cgroup_memory;
  std::optional<Bytes> memlock;  // may page-lock no more
  int64_t processors = 1;        // it may run on (affinity)
  int64_t cores = 1;             // of these, what the control groups' quotas allow; at least one
  int64_t numa_nodes = 1;
};

// Reads /proc and /sys below `root` ("" is the machine's own). What the kernel does not tell, or
// does not let us read, is no limit; RAM and affinity must be there: InvalidArgument naming the
// file and line that are not.
absl::StatusOr<HostLimits> ReadHostLimits(Io& io, const std::string& root = "");

}  // namespace horizon
