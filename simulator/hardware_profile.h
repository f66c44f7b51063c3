#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/documents/document.h"
#include "common/files/io.h"
#include "schedule/operation.h"
#include "schedule/training_job.h"
#include "simulator/curve.h"
#include "simulator/machine_facts.h"
#include "simulator/rate_group.h"

namespace horizon {

// What a machine can do, as far as a training step can tell: the only thing the cost model knows of
// hardware. Made by measuring (probes), or taken from a catalog; a JSON file either way.
// All figures in bytes, seconds, flops and parameters, without prefixes.

inline constexpr int kStateFormatCount = 4;

struct DeviceProfile {
  DeviceKind kind = DeviceKind::kCuda;
  std::string name;
  Figure memory_bytes;
  Figure
      reserved_bytes;  // of it, taken by driver context and libraries before anything is laid out
  Figure memory_bytes_per_second;
  Figure element_bytes_per_second;  // reached by norms, activations and residuals
  Figure launch_seconds;            // least time of a kernel
  // flop/s by the smallest of the three dimensions of a product that is large otherwise.
  Curve gemm_bf16;
  Curve gemm_fp32;
  // What a product reaches of that rate, by its flops: starting and sharing it out take time too.
  // None: all of it.
  std::optional<Curve> gemm_share;
  // flop/s of the visible pairs by sequence length.
  Curve attention;
};

struct LinkProfile {
  Figure latency_seconds;
  // bytes/s by bytes of a copy.
  Curve h2d_pinned;
  Curve h2d_pageable;
  Curve d2h_pinned;
  Curve d2h_pageable;
  Figure both_ways_bytes_per_second;  // sum of both directions when both are busy
  // Each direction is held to this. A copy that is held up waits: it takes nothing else meanwhile.
  std::optional<Figure> limit_bytes_per_second;
  std::optional<PcieState> pcie;  // where the driver tells
};

struct HostProfile {
  std::string name;
  Figure memory_bytes;
  std::optional<Figure> cgroup_bytes;   // the process may use no more than this
  std::optional<Figure> memlock_bytes;  // may page-lock no more than this
  int64_t numa_nodes = 1;
  int64_t cores = 1;
  Curve dram;                                 // bytes/s by threads
  std::array<Curve, kStateFormatCount> adam;  // parameters/s by threads, by StateFormat
  Curve pack;                                 // bytes/s copied out by threads
  // bytes/s by threads of passes that are no plain streams; none: as `dram`.
  std::optional<Curve> accumulate;  // bf16 gradients that arrive, put to the kept ones
  std::optional<Curve> norm;        // squares of gradients, summed in fp64
  // Speed of compute on all cores while a thread of another lane wants one too, as a share of that
  // thread's; none: 1. At most 1 counts.
  std::optional<Figure> compute_weight;
  Figure process_bytes;  // of the program itself: code, heap, libraries
  // How fast the machine was while all of this was measured (planner/profile/yardstick.h).
  std::optional<Figure> yardstick_flops_per_second;
  std::optional<Figure> yardstick_bytes_per_second;
  std::optional<HostTopology> topology;
  std::optional<HostAllowance> allowance;
};

// What the work of one lane keeps of its speed while another lane works beside it, each on cores of
// its own: caches and memory are shared all the same.
struct LaneContention {
  Lane work = Lane::kCompute;
  Lane beside = Lane::kOptimizer;
  Figure speed;  // 1: as alone
};

struct DiskProfile {
  std::string path;
  Figure read_bytes_per_second;
  Figure write_bytes_per_second;
  std::optional<Figure> free_bytes;  // of its file system
};

struct HardwareProfile {
  int64_t version = 1;
  std::string name;  // "gh200-96gb-480gb": lower case, as --machine takes it
  std::string summary;
  DeviceProfile device;
  LinkProfile link;
  HostProfile host;
  // The contention matrix, an entry for each pair that was measured, both ways; others lose nothing
  // but what cores, DRAM and link have too little of.
  std::vector<LaneContention> contention;
  // What operations reach in a run of the rates above, at which they were measured alone, by
  // RateGroup; none: all of it. Caches are cold there, and one kernel follows another.
  std::array<std::optional<Figure>, kRateGroupCount> in_runs;
  std::vector<DiskProfile> disks;
  std::optional<MeasuredOn> measured_on;  // none: not measured, as a catalog's

  // RAM the process may use: the least of what is there and what is allowed.
  double usable_host_bytes() const;
  double usable_device_bytes() const { return device.memory_bytes.value; }
};

// Refuses, with file, line and field, what is missing, unknown, zero, negative or not a number, and
// curves whose sizes do not ascend.
absl::StatusOr<HardwareProfile> ReadProfile(const Document& document);
absl::StatusOr<HardwareProfile> LoadProfile(Io& io, const std::string& path);
// JSON that ReadProfile reads back to an equal profile.
std::string WriteProfile(const HardwareProfile& profile);
// The documented table of fields, in Markdown.
std::string ProfileFieldTable();

}  // namespace horizon
