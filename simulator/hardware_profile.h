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

// A HardwareProfile describes what a machine can do, as far as it matters for a training step. It
// is all that the cost model knows about hardware. A profile is measured (planner/profile/) or
// comes from the catalog (planner/machines/); either way it is a JSON file. All figures are in
// bytes, seconds, flops and parameters, without unit prefixes.

inline constexpr int kStateFormatCount = 4;  // values of StateFormat

// The device of a profile: its memory and its rates.
struct DeviceProfile {
  DeviceKind kind = DeviceKind::kCuda;
  std::string name;
  Figure memory_bytes;
  Figure reserved_bytes;  // of it, taken by driver context and libraries
  Figure memory_bytes_per_second;
  Figure element_bytes_per_second;  // reached by norms, activations and residuals
  Figure launch_seconds;            // the shortest time of a kernel
  // flop/s of a GEMM by the smallest of its three dimensions, where the other two are large.
  Curve gemm_bf16;
  Curve gemm_fp32;
  // The share of that rate that a GEMM reaches, by its flops: starting it and distributing it over
  // threads takes time too. None: all of it.
  std::optional<Curve> gemm_share;
  // flop/s of attention by sequence length; only visible (unmasked) pairs count as flops.
  Curve attention;
  // flop/s of the head (logits, softmax and both gradients) by the tokens of a loss chunk. None: a
  // head takes as long as its GEMMs and passes.
  std::optional<Curve> head;
  // flop/s of the grouped multiplies of experts by the smallest dimension: rows of an expert, width
  // or depth. None: as other GEMMs.
  std::optional<Curve> experts;
};

// The link between host and device.
struct LinkProfile {
  Figure latency_seconds;
  // bytes/s by bytes of a copy.
  Curve h2d_pinned;
  Curve h2d_pageable;
  Curve d2h_pinned;
  Curve d2h_pageable;
  Figure both_ways_bytes_per_second;  // sum of both directions when both are busy
  // A bandwidth limit for each direction (--link). A copy that the limit slows down waits, and
  // draws no other resource while it waits.
  std::optional<Figure> limit_bytes_per_second;
  std::optional<PcieState> pcie;  // where the driver reports it
};

// The host: its memory, its cores, and its rates by number of threads.
struct HostProfile {
  std::string name;
  Figure memory_bytes;
  std::optional<Figure> cgroup_bytes;   // the most that the process may use
  std::optional<Figure> memlock_bytes;  // the most that it may page-lock
  int64_t numa_nodes = 1;
  int64_t cores = 1;
  Curve dram;                                 // bytes/s by threads
  std::array<Curve, kStateFormatCount> adam;  // parameters/s by threads, by StateFormat
  Curve pack;                                 // bytes/s copied to a staging buffer, by threads
  // bytes/s by threads of passes that do more than stream memory; none: as `dram`.
  std::optional<Curve> accumulate;  // adding bf16 gradients that arrive to the kept ones
  std::optional<Curve> norm;        // squaring gradients and summing them in fp64
  // The speed that compute on all cores keeps while a thread of another lane competes for a core,
  // as a share of the speed that this thread keeps. Values above 1 count as 1; none: 1.
  std::optional<Figure> compute_weight;
  Figure process_bytes;  // of the program itself: code, heap, libraries
  // How fast the machine ran fixed work while its rates were measured
  // (planner/profile/yardstick.h).
  std::optional<Figure> yardstick_flops_per_second;
  std::optional<Figure> yardstick_bytes_per_second;
  std::optional<HostTopology> topology;
  std::optional<HostAllowance> allowance;
};

// How much of its speed the work of one lane keeps while another lane works beside it, each on
// cores of its own. They still share caches and memory.
struct LaneContention {
  Lane work = Lane::kCompute;
  Lane beside = Lane::kOptimizer;
  Figure speed;  // as a share of the speed alone
};

// A disk, for the time that a checkpoint takes.
struct DiskProfile {
  std::string path;
  Figure read_bytes_per_second;
  Figure write_bytes_per_second;
  std::optional<Figure> free_bytes;  // free space of its file system
};

// The whole profile of a machine.
struct HardwareProfile {
  int64_t version = 1;
  std::string name;  // in lower case, as --machine takes it: "gh200-96gb-480gb"
  std::string summary;
  DeviceProfile device;
  LinkProfile link;
  HostProfile host;
  // The contention matrix: an entry for each ordered pair of lanes that was measured. Other pairs
  // slow each other down only where cores, DRAM or the PCIe link are short.
  std::vector<LaneContention> contention;
  // By RateGroup: the share of the rates above that operations reach within a run. The rates were
  // measured with each kernel alone; in a run, caches are cold and one kernel follows another.
  // None: all of it.
  std::array<std::optional<Figure>, kRateGroupCount> in_runs;
  std::vector<DiskProfile> disks;
  // The class whose shares of data sheets its rates are (planner/machines/machine_shares.h); none:
  // it is not of the catalog.
  std::optional<std::string> device_class;
  // Why horizon can plan for this machine but not run on it ("AMD GPUs: ..."); none: it can.
  std::optional<std::string> planned_only;
  std::optional<MeasuredOn> measured_on;  // none: the profile was not measured (the catalog's)

  // RAM that the process may use: the smaller of memory_bytes and cgroup_bytes.
  double usable_host_bytes() const;
  double usable_device_bytes() const { return device.memory_bytes.value; }
};

// Reads a profile. A field that is missing, unknown, zero, negative or not a number, and a curve
// with sizes that do not ascend, is an error that names file, line and field.
absl::StatusOr<HardwareProfile> ReadProfile(const Document& document);
absl::StatusOr<HardwareProfile> LoadProfile(Io& io, const std::string& path);
// JSON that ReadProfile reads back to an equal profile.
std::string WriteProfile(const HardwareProfile& profile);
// The table of fields in Markdown, for docs/formats.md.
std::string ProfileFieldTable();

}  // namespace horizon
