#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/io.h"
#include "common/units.h"
#include "simulator/machine_facts.h"

namespace horizon {

// Pages that are set aside for programs that ask for them.
struct HugePagePool {
  Bytes page;
  uint64_t total = 0;  // pages
  uint64_t free = 0;
};

// What this machine has and what this process may use of it, as the kernel says (man 5 proc,
// man 7 cgroups).
struct HostLimits {
  std::string processor;  // its name in /proc/cpuinfo; "" where there is none
  Bytes total_memory;
  Bytes available_memory;  // could be taken now without swapping
  Bytes swap;
  Bytes swap_free;
  // The least limit of the process's control groups up the tree, of either version.
  std::optional<Bytes> cgroup_memory;
  std::optional<Bytes> address_space;  // may map no more (RLIMIT_AS)
  std::optional<Bytes> memlock;        // may page-lock no more (RLIMIT_MEMLOCK)
  HugePageMode huge_pages = HugePageMode::kUnknown;
  std::vector<HugePagePool> huge_page_pools;  // those with pages in them
  int64_t hardware_threads = 1;               // of the machine
  int64_t processors = 1;                     // of these, it may run on (affinity)
  // Cores' worth of time that the control groups give it, the least up the tree; none: no quota.
  std::optional<double> quota_cores;
  int64_t cores =
      1;  // really usable: of affinity and whole cores of the quota the less; at least 1
  int64_t numa_nodes = 1;

  // What the process may use at most, whatever there is: of control groups and address space.
  std::optional<Bytes> memory_limit() const;
};

// Reads /proc and /sys below `root` ("" is the machine's own). What the kernel does not tell, or
// does not let us read, is no limit; RAM and affinity must be there: InvalidArgument naming the
// file and line that are not.
absl::StatusOr<HostLimits> ReadHostLimits(Io& io, const std::string& root = "");

// The same for a profile.
HostAllowance AllowanceOf(const HostLimits& limits);

}  // namespace horizon
