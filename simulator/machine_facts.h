#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/documents/enum_words.h"
#include "common/documents/record.h"
#include "common/units.h"

namespace horizon {

// What is known of a machine besides its rates: which one it is, how it is built, what a process
// may use of it. All of it may be missing from a profile: catalogs and older files have none.

// Which machine a profile was measured on. Two machines, or one that was changed, differ in it; how
// busy it is and how much of its memory is free does not matter.
struct ProfiledHardware {
  std::string processor;
  int64_t cores = 1;             // that the process may use
  int64_t hardware_threads = 1;  // that the machine has
  Bytes memory_bytes;
  int64_t numa_nodes = 1;
  std::string device;  // "host", or what identifies a GPU: name, memory, driver
  friend bool operator==(const ProfiledHardware&, const ProfiledHardware&) = default;
};
// What differs, in words; empty: nothing. "cores: 2 instead of 8, ..."
std::string DifferenceOf(const ProfiledHardware& here, const ProfiledHardware& there);
// "AMD EPYC, 2 cores, 15.6 GiB, device host".
std::string ToString(const ProfiledHardware& hardware);

struct MeasuredOn {
  ProfiledHardware hardware;
  int64_t made = 0;     // seconds since the begin of 1970
  bool quick = false;   // measured in a hurry
  std::string kernels;  // what identifies the kernels it was measured with
  friend bool operator==(const MeasuredOn&, const MeasuredOn&) = default;
};

struct NumaNode {
  int64_t number = 0;
  Bytes memory_bytes;  // 0: a node of processors alone
  int64_t cores = 0;   // physical ones; 0: a node of memory alone
  int64_t hardware_threads = 0;
  friend bool operator==(const NumaNode&, const NumaNode&) = default;
};

// How the host is built.
struct HostTopology {
  int64_t sockets = 1;
  int64_t cores = 1;             // physical ones
  int64_t hardware_threads = 1;  // more than cores where each runs several
  Bytes l2_bytes;                // of one cache; 0: not known or none
  Bytes l3_bytes;
  int64_t l3_caches = 0;
  std::vector<NumaNode> nodes;
  friend bool operator==(const HostTopology&, const HostTopology&) = default;
};

// /sys/kernel/mm/transparent_hugepage/enabled.
enum class HugePageMode { kAlways, kMadvise, kNever, kUnknown };
std::span<const EnumWord<HugePageMode>> WordsOf(HugePageMode);

// What the process was allowed to use when the profile was made.
struct HostAllowance {
  Bytes total_memory_bytes;
  Bytes swap_bytes;
  Bytes swap_free_bytes;
  // 0: no such limit.
  Bytes control_group_bytes;
  Bytes address_space_bytes;  // RLIMIT_AS
  Bytes locked_memory_bytes;  // RLIMIT_MEMLOCK
  HugePageMode huge_pages = HugePageMode::kUnknown;
  Bytes huge_page_pool_bytes;  // set aside for programs that ask for it
  Bytes huge_page_pool_free_bytes;
  int64_t hardware_threads = 1;  // of the machine that it may run on (affinity)
  double quota_cores = 0;        // cores' worth of time the control groups give it; 0: no quota
  friend bool operator==(const HostAllowance&, const HostAllowance&) = default;
};
// "2 of 64 hardware threads by affinity; 1.5 cores' worth of time by quota".
std::string CoresText(const HostAllowance& allowance, int64_t machine_threads);

// A way over PCIe as the driver tells it: the generation (3 is 8 GT/s a lane) and the lanes.
struct PcieState {
  int64_t generation = 1;
  int64_t width = 1;
  int64_t best_generation = 1;  // what device and slot could do together
  int64_t best_width = 1;
  // Read while copies ran. At rest a device lowers the generation to save power.
  bool under_load = false;
  friend bool operator==(const PcieState&, const PcieState&) = default;
};
// What is wrong with a link that runs below its best, with what to do; empty: nothing is.
std::string LinkProblem(const PcieState& link);
// "gen 4 x16".
std::string PcieText(int64_t generation, int64_t width);

// Every field once, as HardwareProfile reads, writes and documents them.
template <typename Record, typename Visitor>
void VisitMeasuredOn(Record& on, Visitor& visit) {
  constexpr double kMost = 9e15;
  visit("processor", on.hardware.processor, {.help = "its name"});
  visit("cores", on.hardware.cores, {.minimum = 1, .maximum = 4096, .help = "really usable"});
  visit("hardware_threads", on.hardware.hardware_threads, {.minimum = 1, .maximum = 1e6});
  visit("memory_bytes", on.hardware.memory_bytes, {.unit = "bytes", .maximum = kMost});
  visit("numa_nodes", on.hardware.numa_nodes, {.minimum = 1, .maximum = 1024});
  visit("device", on.hardware.device, {.help = "`host`, or name, memory and driver of a GPU"});
  visit("made", on.made, {.unit = "seconds since 1970", .minimum = 0, .maximum = kMost});
  visit("quick", on.quick, {.help = "fewer sizes, less time"});
  visit("kernels", on.kernels, {.help = "what identifies the kernels it was measured with"});
}

template <typename Record, typename Visitor>
void VisitTopology(Record& topology, Visitor& visit) {
  visit("sockets", topology.sockets, {.minimum = 1, .maximum = 1024});
  visit("cores", topology.cores, {.minimum = 1, .maximum = 1e6, .help = "physical ones"});
  visit("hardware_threads", topology.hardware_threads, {.minimum = 1, .maximum = 1e6});
  visit("l2_bytes", topology.l2_bytes, {.unit = "bytes", .help = "of one cache; 0: not known"});
  visit("l3_bytes", topology.l3_bytes, {.unit = "bytes", .help = "of one cache; 0: not known"});
  visit("l3_caches", topology.l3_caches, {.minimum = 0, .maximum = 1e6});
  visit.List("nodes", topology.nodes, [&](auto& node) {
    visit("number", node.number, {.minimum = 0, .maximum = 1e6, .help = "of the NUMA node"});
    visit("memory_bytes", node.memory_bytes, {.unit = "bytes"});
    visit("cores", node.cores, {.minimum = 0, .maximum = 1e6, .help = "physical ones"});
    visit("hardware_threads", node.hardware_threads, {.minimum = 0, .maximum = 1e6});
  });
}

template <typename Record, typename Visitor>
void VisitAllowance(Record& allowed, Visitor& visit) {
  visit("total_memory_bytes", allowed.total_memory_bytes, {.unit = "bytes"});
  visit("swap_bytes", allowed.swap_bytes, {.unit = "bytes"});
  visit("swap_free_bytes", allowed.swap_free_bytes, {.unit = "bytes"});
  visit("control_group_bytes", allowed.control_group_bytes,
        {.unit = "bytes", .help = "0: no limit"});
  visit("address_space_bytes", allowed.address_space_bytes,
        {.unit = "bytes", .help = "`ulimit -v`; 0: no limit"});
  visit("locked_memory_bytes", allowed.locked_memory_bytes,
        {.unit = "bytes", .help = "`ulimit -l`; 0: no limit"});
  visit("huge_pages", allowed.huge_pages, {.help = "when the kernel uses them unasked"});
  visit("huge_page_pool_bytes", allowed.huge_page_pool_bytes,
        {.unit = "bytes", .help = "set aside"});
  visit("huge_page_pool_free_bytes", allowed.huge_page_pool_free_bytes, {.unit = "bytes"});
  visit("hardware_threads", allowed.hardware_threads,
        {.minimum = 1, .maximum = 1e6, .help = "by affinity"});
  visit("quota_cores", allowed.quota_cores,
        {.unit = "cores", .minimum = 0, .maximum = 1e6, .help = "by control groups; 0: no quota"});
}

template <typename Record, typename Visitor>
void VisitPcie(Record& link, Visitor& visit) {
  visit("generation", link.generation, {.minimum = 1, .maximum = 100});
  visit("width", link.width, {.unit = "lanes", .minimum = 1, .maximum = 1024});
  visit("best_generation", link.best_generation,
        {.minimum = 1, .maximum = 100, .help = "that device and slot can do"});
  visit("best_width", link.best_width, {.unit = "lanes", .minimum = 1, .maximum = 1024});
  visit("under_load", link.under_load, {.help = "read while copies ran, not at rest"});
}

}  // namespace horizon
