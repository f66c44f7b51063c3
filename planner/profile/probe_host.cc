#include "planner/profile/probe_host.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>

#include "common/check.h"
#include "common/process_memory.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "planner/profile/host/host_limits.h"
#include "planner/profile/host_lane_workloads.h"
#include "planner/profile/host_rates.h"
#include "planner/profile/measure_contention.h"

namespace horizon {
namespace {

constexpr Bytes kMostArena = 192_MiB;
// What the heap, stacks and libraries may still grow by while training.
constexpr Bytes kProcessGrowth = 16_MiB;

Figure Told(Bytes bytes, std::string source, std::string when) {
  return {.value = static_cast<double>(bytes.value()),
          .origin = {.kind = OriginKind::kMeasured,
                     .source = std::move(source),
                     .when = std::move(when),
                     .repeats = 1}};
}

Figure Assumed(double value, std::string source) {
  return {.value = value, .origin = {.source = std::move(source)}};
}

// What is not a rate.
void DescribeMachine(const HostLimits& limits, const HostProbe& probe, int64_t cores,
                     HardwareProfile& profile) {
  const std::string processor = limits.processor.empty() ? "processor" : limits.processor;
  profile.name = "this-machine";
  profile.summary = StrCat(processor, ", ", cores, " cores, ", ToString(limits.available_memory),
                           " of ", ToString(limits.total_memory), " free, device `host`");
  HostProfile& host = profile.host;
  host.name = processor;
  host.numa_nodes = limits.numa_nodes;
  host.cores = cores;
  DeviceProfile& device = profile.device;
  device.kind = DeviceKind::kHost;
  device.name = StrCat(cores, " cores of ", processor);
  SetHostMemory(limits, profile);
  if (probe.device_memory) {
    device.memory_bytes = Assumed(static_cast<double>(probe.device_memory->value()), "given");
  }
  device.reserved_bytes = Assumed(1 << 20, "1 MiB: the arena is the plan's alone");
}

// Of the time of all measurements.
constexpr double kContentionShare = 0.2;
constexpr int64_t kFewRounds = 3;
constexpr int64_t kManyRounds = 9;

// Of pairs of lanes; one core has nothing to work beside itself. Each pair has cores of its own,
// then compute has all of them beside each other lane.
int64_t PairsOf(int64_t cores) {
  if (cores < 2) return 0;
  return ContentionPairs(HostLaneWorkloads::kWorkloads) +
         static_cast<int64_t>(HostLaneWorkloads::kWorkloads) - 1;
}

// What lanes lose to each other, after all rates.
absl::Status MeasureBeside(Clock& clock, const HostProbe& probe, Bytes arena_bytes,
                           HardwareProfile& profile) {
  const int64_t cores = profile.host.cores;
  if (cores < 2) return absl::OkStatus();
  const double pair_seconds =
      probe.time.value * kContentionShare / static_cast<double>(PairsOf(cores));
  const int64_t before =
      HostRateCount({.cores = cores, .arena_bytes = arena_bytes, .quick = probe.quick});
  // The time of so many pairs, the first after `done` others.
  const auto time_of = [&](int64_t pairs, int64_t done) {
    ContentionTime time{.time = {static_cast<double>(pairs) * pair_seconds},
                        .rounds = probe.quick ? kFewRounds : kManyRounds,
                        .when = probe.when};
    if (probe.on_measured) {
      time.on_measured = [&probe, first = before + done, total = before + PairsOf(cores)](
                             int64_t now) { probe.on_measured(first + now, total); };
    }
    return time;
  };
  const int64_t matrix = ContentionPairs(HostLaneWorkloads::kWorkloads);
  {
    ASSIGN_OR_RETURN(const std::unique_ptr<HostLaneWorkloads> lanes,
                     HostLaneWorkloads::Create(cores - 1, arena_bytes));
    ASSIGN_OR_RETURN(profile.contention,
                     MeasureContention(clock, lanes->workloads(), time_of(matrix, 0)));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<HostLaneWorkloads> lanes,
                   HostLaneWorkloads::Create(cores, arena_bytes));
  std::vector<LaneWorkload> others = lanes->workloads();
  const auto compute = std::find_if(others.begin(), others.end(), [](const LaneWorkload& work) {
    return work.lane == Lane::kCompute;
  });
  const LaneWorkload crowded = *compute;
  others.erase(compute);
  ASSIGN_OR_RETURN(
      profile.host.compute_weight,
      MeasureCrowdedWeight(clock, crowded, others, time_of(PairsOf(cores) - matrix, matrix)));
  return absl::OkStatus();
}

}  // namespace

void SetHostMemory(const HostLimits& limits, HardwareProfile& profile) {
  HostProfile& host = profile.host;
  host.memory_bytes = Told(
      limits.available_memory,
      StrCat("MemAvailable of /proc/meminfo; MemTotal is ", ToString(limits.total_memory)), "now");
  host.cgroup_bytes.reset();
  if (const std::optional<Bytes> limit = limits.memory_limit(); limit && *limit > 0_B) {
    const bool group = limits.cgroup_memory && *limit == limits.cgroup_limit();
    host.cgroup_bytes = Told(*limit,
                             group ? "least limit of the control groups"
                                   : "Max address space and Max data size of /proc/self/limits",
                             "now");
  }
  host.allowance = AllowanceOf(limits);
  // A driver locks memory itself; the limit on what a process may lock is not asked there.
  host.memlock_bytes.reset();
  if (profile.device.kind != DeviceKind::kHost) return;
  if (limits.memlock && limits.memlock->value() > 0) {
    host.memlock_bytes = Told(*limits.memlock, "Max locked memory of /proc/self/limits", "now");
  }
  profile.device.memory_bytes =
      Assumed(std::floor(profile.usable_host_bytes() / 4), "a quarter of the RAM");
}

absl::StatusOr<HardwareProfile> ProbeHost(Io& io, Clock& clock, const HostProbe& probe) {
  CHECK(!probe.threads || (*probe.threads >= 1 && *probe.threads <= 1024));
  CHECK(!probe.device_memory || probe.device_memory->value() > 0);
  ASSIGN_OR_RETURN(const HostLimits limits, ReadHostLimits(io));
  const int64_t cores = std::min<int64_t>(1024, probe.threads.value_or(limits.cores));
  HardwareProfile profile;
  DescribeMachine(limits, probe, cores, profile);
  const Bytes arena =
      std::min(kMostArena, Bytes(static_cast<uint64_t>(profile.usable_host_bytes() / 4)));
  if (arena < kLeastArenaBytes) {
    return absl::ResourceExhaustedError(
        StrCat("cannot measure this machine: ", ToString(4 * kLeastArenaBytes),
               " of RAM are needed and ", ToString(4 * arena), " may be used"));
  }
  HostRateOptions rates{.time = {probe.time.value * (1 - kContentionShare)},
                        .cores = cores,
                        .arena_bytes = arena,
                        .when = probe.when,
                        .quick = probe.quick};
  if (probe.on_measured) {
    rates.on_measured = [&, total = HostRateCount(rates) + PairsOf(cores)](int64_t done) {
      probe.on_measured(done, total);
    };
  }
  RETURN_IF_ERROR(MeasureHostRates(clock, rates, profile));
  RETURN_IF_ERROR(MeasureBeside(clock, probe, arena, profile));
  ASSIGN_OR_RETURN(const ProcessMemory memory, ReadProcessMemory(io));
  profile.host.process_bytes =
      Told(memory.held() + kProcessGrowth,
           StrCat("held after the probe, and ", ToString(kProcessGrowth), " to grow"), probe.when);
  return profile;
}

}  // namespace horizon
