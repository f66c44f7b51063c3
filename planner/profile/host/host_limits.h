#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/files/io.h"
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
  // What the processes of these groups may still take together: the least of limit less use. The
  // cache of files does not count as use, since the kernel drops it for whoever needs memory.
  std::optional<Bytes> cgroup_free;
  std::optional<Bytes> address_space;  // may map no more (RLIMIT_AS)
  std::optional<Bytes> data_segment;   // may map no more that it can write to (RLIMIT_DATA)
  // Of this process now: what is in RAM, what is mapped, and what of that it can write to.
  Bytes resident;
  Bytes mapped;
  Bytes data_mapped;
  std::optional<Bytes> memlock;  // may page-lock no more (RLIMIT_MEMLOCK)
  HugePageMode huge_pages = HugePageMode::kUnknown;
  std::vector<HugePagePool> huge_page_pools;  // those with pages in them
  int64_t hardware_threads = 1;               // of the machine
  int64_t processors = 1;                     // of these, it may run on (affinity)
  // Cores' worth of time that the control groups give it, the least up the tree; none: no quota.
  std::optional<double> quota_cores;
  int64_t cores =
      1;  // really usable: of affinity and whole cores of the quota the less; at least 1
  int64_t numa_nodes = 1;

  // What the process may have in RAM at most, whatever the machine has: the least that control
  // groups, address space and data segment allow, after what is mapped without being in RAM.
  std::optional<Bytes> memory_limit() const;
  std::optional<Bytes> cgroup_limit() const;  // the control groups' part of it
  // How much more it may take now, by all limits and what the machine has available.
  Bytes free_memory() const;
};

// Reads /proc and /sys below `root` ("" is the machine's own). What the kernel does not tell, or
// does not let us read, is no limit; RAM and affinity must be there: InvalidArgument naming the
// file and line that are not.
absl::StatusOr<HostLimits> ReadHostLimits(Io& io, const std::string& root = "");

// The same for a profile.
HostAllowance AllowanceOf(const HostLimits& limits);

}  // namespace horizon
