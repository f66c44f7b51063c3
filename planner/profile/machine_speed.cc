#include "planner/profile/machine_speed.h"

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "common/host_memory.h"
#include "common/kernel_context.h"
#include "common/status_macros.h"
#include "common/threads/workers.h"
#include "planner/profile/yardstick.h"

namespace horizon {
namespace {

void Scale(Curve& curve, double factor) { curve = Scaled(std::move(curve), factor); }
void Scale(std::optional<Curve>& curve, double factor) {
  if (curve.has_value()) Scale(*curve, factor);
}
void Scale(Figure& figure, double factor) { figure.value *= factor; }
void Scale(std::optional<Figure>& figure, double factor) {
  if (figure.has_value()) Scale(*figure, factor);
}

absl::StatusOr<Yardstick> MakeYardstick(Clock& clock, const KernelContext& context,
                                        const SpeedMeasurement& options, bool with_memory) {
  if (options.borrowed.size() >= Yardstick::kMemoryBytes.value()) {
    return Yardstick::CreateIn(clock, context,
                               options.borrowed.first(Yardstick::kMemoryBytes.value()));
  }
  return with_memory ? Yardstick::Create(clock, context)
                     : Yardstick::CreateIn(clock, context, std::span<std::byte>());
}

}  // namespace

absl::StatusOr<MachineSpeed> MeasureSpeed(Clock& clock, const HardwareProfile& profile,
                                          int64_t threads, const SpeedMeasurement& options) {
  const HostProfile& host = profile.host;
  if (!host.yardstick_flops_per_second || !host.yardstick_bytes_per_second ||
      options.max_extra_bytes < kGemmSpeedBytes) {
    return MachineSpeed{};
  }
  const bool with_memory = options.borrowed.size() >= Yardstick::kMemoryBytes.value() ||
                           options.max_extra_bytes >= kMemorySpeedBytes;
  ASSIGN_OR_RETURN(const std::unique_ptr<Workers> workers,
                   Workers::Create("speed", static_cast<int>(threads)));
  ASSIGN_OR_RETURN(const HostMemory scratch,
                   HostMemory::Create(Bytes(kWorkerScratchBytes) * threads,
                                      {.populate = false, .huge_pages = false}));
  const KernelContext context{.workers = workers.get(), .scratch = scratch.span()};
  ASSIGN_OR_RETURN(Yardstick yardstick, MakeYardstick(clock, context, options, with_memory));
  const Nanoseconds end =
      clock.Now() + std::chrono::nanoseconds(static_cast<int64_t>(options.time.value * 1e9));
  // The first run is not timed: it starts the threads and touches the pages.
  RETURN_IF_ERROR(yardstick.TimeGemm().status());
  if (with_memory) RETURN_IF_ERROR(yardstick.TimeMemoryPass().status());
  // The mean, not the median: a training step is long, so it also contains its share of the moments
  // in which the machine is slowed down.
  double runs = 0;
  double gemm_seconds = 0;
  double memory_seconds = 0;
  do {
    ASSIGN_OR_RETURN(const double gemm, yardstick.TimeGemm());
    gemm_seconds += gemm;
    if (with_memory) {
      ASSIGN_OR_RETURN(const double memory, yardstick.TimeMemoryPass());
      memory_seconds += memory;
    }
    ++runs;
  } while (clock.Now() < end);
  MachineSpeed speed;
  speed.gemm = runs * Yardstick::kFlops / gemm_seconds / host.yardstick_flops_per_second->value;
  speed.memory = with_memory ? runs * yardstick.bytes() / memory_seconds /
                                   host.yardstick_bytes_per_second->value
                             : speed.gemm;
  return speed;
}

MachineSpeed SpeedRelativeTo(const HardwareProfile& other, const HardwareProfile& profile,
                             const MachineSpeed& speed) {
  const auto share = [](const std::optional<Figure>& now, const std::optional<Figure>& there) {
    return now && there ? now->value / there->value : 1;
  };
  return {.gemm = speed.gemm * share(profile.host.yardstick_flops_per_second,
                                     other.host.yardstick_flops_per_second),
          .memory = speed.memory * share(profile.host.yardstick_bytes_per_second,
                                         other.host.yardstick_bytes_per_second)};
}

HardwareProfile AtSpeed(HardwareProfile profile, const MachineSpeed& speed) {
  HostProfile& host = profile.host;
  for (Curve* curve : {&host.dram, &host.pack}) Scale(*curve, speed.memory);
  for (Curve& curve : host.adam) Scale(curve, speed.memory);
  Scale(host.accumulate, speed.memory);
  Scale(host.norm, speed.gemm);  // arithmetic in fp64
  Scale(host.yardstick_flops_per_second, speed.gemm);
  Scale(host.yardstick_bytes_per_second, speed.memory);
  if (profile.device.kind != DeviceKind::kHost) return profile;
  DeviceProfile& device = profile.device;
  for (Curve* curve : {&device.gemm_bf16, &device.gemm_fp32, &device.attention}) {
    Scale(*curve, speed.gemm);
  }
  Scale(device.memory_bytes_per_second, speed.memory);
  Scale(device.element_bytes_per_second, speed.gemm);
  Scale(device.launch_seconds, 1 / speed.gemm);
  LinkProfile& link = profile.link;
  for (Curve* curve :
       {&link.h2d_pinned, &link.h2d_pageable, &link.d2h_pinned, &link.d2h_pageable}) {
    Scale(*curve, speed.memory);
  }
  Scale(link.both_ways_bytes_per_second, speed.memory);
  return profile;
}

}  // namespace horizon
