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

// Facts about a machine besides its rates: which machine it is, how it is built, and what a process
// may use of it. A profile may have none of them: those of the catalog and older files do not.

// Identifies the machine that a profile was measured on. It differs between two machines, and
// between one machine before and after its hardware was changed. It does not depend on how busy the
// machine is or how much of its memory is free.
struct ProfiledHardware {
  std::string processor;
  int64_t cores = 1;             // that the process may use
  int64_t hardware_threads = 1;  // that the machine has
  Bytes memory_bytes;
  int64_t numa_nodes = 1;
  std::string device;  // "host", or what identifies a GPU: name, memory, driver
  friend bool operator==(const ProfiledHardware&, const ProfiledHardware&) = default;
};
// Describes the differences: "cores: 2 instead of 8, ..."; empty where there are none.
std::string DifferenceOf(const ProfiledHardware& here, const ProfiledHardware& there);
// For people: "AMD EPYC, 2 cores, 15.6 GiB, device host".
std::string ToString(const ProfiledHardware& hardware);

// When, where and how a profile was measured.
struct MeasuredOn {
  ProfiledHardware hardware;
  int64_t made = 0;     // Unix time in seconds
  bool quick = false;   // measured with fewer sizes and in less time
  std::string kernels;  // fingerprint of the kernels it was measured with
  friend bool operator==(const MeasuredOn&, const MeasuredOn&) = default;
};

// A NUMA node of the host.
struct NumaNode {
  int64_t number = 0;
  Bytes memory_bytes;  // 0: the node has only processors
  int64_t cores = 0;   // physical cores; 0: the node has only memory
  int64_t hardware_threads = 0;
  friend bool operator==(const NumaNode&, const NumaNode&) = default;
};

// How the host is built.
struct HostTopology {
  int64_t sockets = 1;
  int64_t cores = 1;             // physical cores
  int64_t hardware_threads = 1;  // more than cores with simultaneous multithreading
  Bytes l2_bytes;                // of one cache; 0: not known, or there is none
  Bytes l3_bytes;
  int64_t l3_caches = 0;
  std::vector<NumaNode> nodes;
  friend bool operator==(const HostTopology&, const HostTopology&) = default;
};

// The setting in /sys/kernel/mm/transparent_hugepage/enabled.
enum class HugePageMode { kAlways, kMadvise, kNever, kUnknown };
std::span<const EnumWord<HugePageMode>> WordsOf(HugePageMode);

// What the process was allowed to use when the profile was made.
struct HostAllowance {
  Bytes total_memory_bytes;
  Bytes swap_bytes;
  Bytes swap_free_bytes;
  // Limits; 0: there is none.
  Bytes control_group_bytes;
  Bytes address_space_bytes;  // RLIMIT_AS
  Bytes locked_memory_bytes;  // RLIMIT_MEMLOCK
  HugePageMode huge_pages = HugePageMode::kUnknown;
  Bytes huge_page_pool_bytes;  // reserved for programs that ask for it
  Bytes huge_page_pool_free_bytes;
  int64_t hardware_threads = 1;  // hardware threads that it may run on (affinity)
  double quota_cores = 0;        // CPU time quota of the control groups, in cores; 0: no quota
  friend bool operator==(const HostAllowance&, const HostAllowance&) = default;
};
// For people: "2 of 64 hardware threads by affinity; 1.5 cores' worth of time by quota".
std::string CoresText(const HostAllowance& allowance, int64_t machine_threads);

// The state of a PCIe link as the driver reports it: its generation (3 is 8 GT/s for each PCIe
// lane) and its width in PCIe lanes.
struct PcieState {
  int64_t generation = 1;
  int64_t width = 1;
  int64_t best_generation = 1;  // the best that device and slot support together
  int64_t best_width = 1;
  // Whether it was read while copies ran. An idle device lowers the generation to save power.
  bool under_load = false;
  friend bool operator==(const PcieState&, const PcieState&) = default;
};
// Says what is wrong with a link that runs below its best, and what to do; empty where nothing is.
std::string LinkProblem(const PcieState& link);
// "gen 4 x16".
std::string PcieText(int64_t generation, int64_t width);

// Declares every field of the structs above once, for reading, writing and documenting profiles.
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
