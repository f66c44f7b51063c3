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
                                        const SpeedMeasurement& look, bool with_memory) {
  if (look.borrowed.size() >= Yardstick::kMemoryBytes.value()) {
    return Yardstick::CreateIn(clock, context,
                               look.borrowed.first(Yardstick::kMemoryBytes.value()));
  }
  return with_memory ? Yardstick::Create(clock, context)
                     : Yardstick::CreateIn(clock, context, std::span<std::byte>());
}

}  // namespace

absl::StatusOr<MachineSpeed> MeasureSpeed(Clock& clock, const HardwareProfile& profile,
                                          int64_t threads, const SpeedMeasurement& look) {
  const HostProfile& host = profile.host;
  if (!host.yardstick_flops_per_second || !host.yardstick_bytes_per_second ||
      look.may_take < kGemmSpeedBytes) {
    return MachineSpeed{};
  }
  const bool with_memory =
      look.borrowed.size() >= Yardstick::kMemoryBytes.value() || look.may_take >= kMemorySpeedBytes;
  ASSIGN_OR_RETURN(const std::unique_ptr<Workers> workers,
                   Workers::Create("speed", static_cast<int>(threads)));
  ASSIGN_OR_RETURN(const HostMemory scratch,
                   HostMemory::Create(Bytes(kWorkerScratchBytes) * threads,
                                      {.populate = false, .huge_pages = false}));
  const KernelContext context{.workers = workers.get(), .scratch = scratch.span()};
  ASSIGN_OR_RETURN(Yardstick yardstick, MakeYardstick(clock, context, look, with_memory));
  const Nanoseconds end =
      clock.Now() + std::chrono::nanoseconds(static_cast<int64_t>(look.time.value * 1e9));
  // Once unmeasured: threads and pages are there then.
  RETURN_IF_ERROR(yardstick.Products().status());
  if (with_memory) RETURN_IF_ERROR(yardstick.Memory().status());
  // Means: a step, which is long, also has its share of the moments when the machine is held up.
  double runs = 0;
  double products = 0;
  double memory = 0;
  do {
    ASSIGN_OR_RETURN(const double of_products, yardstick.Products());
    products += of_products;
    if (with_memory) {
      ASSIGN_OR_RETURN(const double of_memory, yardstick.Memory());
      memory += of_memory;
    }
    ++runs;
  } while (clock.Now() < end);
  MachineSpeed speed;
  speed.products = runs * Yardstick::kFlops / products / host.yardstick_flops_per_second->value;
  speed.memory = with_memory
                     ? runs * yardstick.bytes() / memory / host.yardstick_bytes_per_second->value
                     : speed.products;
  return speed;
}

MachineSpeed AsShareOf(const HardwareProfile& other, const HardwareProfile& profile,
                       const MachineSpeed& speed) {
  const auto share = [](const std::optional<Figure>& now, const std::optional<Figure>& there) {
    return now && there ? now->value / there->value : 1;
  };
  return {.products = speed.products * share(profile.host.yardstick_flops_per_second,
                                             other.host.yardstick_flops_per_second),
          .memory = speed.memory * share(profile.host.yardstick_bytes_per_second,
                                         other.host.yardstick_bytes_per_second)};
}

HardwareProfile AtSpeed(HardwareProfile profile, const MachineSpeed& speed) {
  HostProfile& host = profile.host;
  for (Curve* curve : {&host.dram, &host.pack}) Scale(*curve, speed.memory);
  for (Curve& curve : host.adam) Scale(curve, speed.memory);
  Scale(host.accumulate, speed.memory);
  Scale(host.norm, speed.products);  // arithmetic in fp64
  Scale(host.yardstick_flops_per_second, speed.products);
  Scale(host.yardstick_bytes_per_second, speed.memory);
  if (profile.device.kind != DeviceKind::kHost) return profile;
  DeviceProfile& device = profile.device;
  for (Curve* curve : {&device.gemm_bf16, &device.gemm_fp32, &device.attention}) {
    Scale(*curve, speed.products);
  }
  Scale(device.memory_bytes_per_second, speed.memory);
  Scale(device.element_bytes_per_second, speed.products);
  Scale(device.launch_seconds, 1 / speed.products);
  LinkProfile& link = profile.link;
  for (Curve* curve :
       {&link.h2d_pinned, &link.h2d_pageable, &link.d2h_pinned, &link.d2h_pageable}) {
    Scale(*curve, speed.memory);
  }
  Scale(link.both_ways_bytes_per_second, speed.memory);
  return profile;
}

}  // namespace horizon
