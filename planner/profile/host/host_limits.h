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

// A pool of huge pages, reserved for programs that ask for them.
struct HugePagePool {
  Bytes page;          // size of a page
  uint64_t total = 0;  // pages
  uint64_t free = 0;   // pages
};

// What this machine has and how much of it this process may use, as the operating system reports it
// (man 5 proc, man 7 cgroups).
struct HostLimits {
  std::string processor;  // its name in /proc/cpuinfo; "" where it is missing
  Bytes total_memory;
  Bytes available_memory;  // can be allocated now without swapping
  Bytes swap;
  Bytes swap_free;
  // The smallest memory limit of the process's control groups, up the tree, of either cgroup
  // version.
  std::optional<Bytes> cgroup_memory;
  // What the processes of these groups may still allocate together: the smallest difference of
  // limit and use. The page cache does not count as use, because the kernel drops it when memory is
  // needed.
  std::optional<Bytes> cgroup_free;
  std::optional<Bytes> address_space;  // the most it may map (RLIMIT_AS)
  std::optional<Bytes> data_segment;   // the most writable memory it may map (RLIMIT_DATA)
  // Of this process now.
  Bytes resident;                // in RAM
  Bytes mapped;                  // mapped
  Bytes data_mapped;             // mapped and writable
  std::optional<Bytes> memlock;  // the most it may page-lock (RLIMIT_MEMLOCK)
  HugePageMode huge_pages = HugePageMode::kUnknown;
  std::vector<HugePagePool> huge_page_pools;  // pools that have pages
  int64_t hardware_threads = 1;               // of the machine
  int64_t processors = 1;                     // hardware threads that it may run on (affinity)
  // CPU time quota in cores, the smallest of its control groups up the tree; none: no quota.
  std::optional<double> quota_cores;
  // The cores that it can really use: the smaller of `processors` and the whole cores of the quota;
  // at least 1.
  int64_t cores = 1;
  int64_t numa_nodes = 1;

  // The most RAM that the process may have, however much the machine has: the smallest amount that
  // control groups, address space and data segment allow. Memory that is mapped without being in
  // RAM counts against the last two.
  std::optional<Bytes> memory_limit() const;
  std::optional<Bytes> cgroup_limit() const;  // as far as control groups limit it
  // How much more it may allocate now, by all limits and by what the machine has available.
  Bytes free_memory() const;
};

// Reads /proc and /sys below `root` ("" for this machine). A limit that the kernel does not report,
// or does not let us read, counts as no limit. RAM and affinity must be there; otherwise it returns
// InvalidArgument naming the file and the line that is missing.
absl::StatusOr<HostLimits> ReadHostLimits(Io& io, const std::string& root = "");

// The same, in the form that a profile stores.
HostAllowance AllowanceOf(const HostLimits& limits);

}  // namespace horizon
