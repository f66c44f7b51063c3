#include "planner/profile/machine_speed.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/host_memory.h"
#include "common/kernel_context.h"
#include "common/statistics.h"
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
  ASSIGN_OR_RETURN(const Yardstick::Window window, yardstick.TimeBoth(options.time));
  MachineSpeed speed;
  speed.gemm = Yardstick::kFlops / window.gemm_seconds / host.yardstick_flops_per_second->value;
  speed.memory = with_memory ? yardstick.bytes() / window.memory_seconds /
                                   host.yardstick_bytes_per_second->value
                             : speed.gemm;
  return speed;
}

namespace {

// Before a run the speed of a machine is one of two things: what it was when the profile was
// measured, but for a little, or something else, because others use the machine or its clock has
// changed.
constexpr double kUnchangedShare = 0.7;  // how often it is unchanged
constexpr double kUnchangedDeviation = 0.02;
constexpr double kChangedDeviation = 0.2;
constexpr double kLeastNoise = 0.02;

// The density of a normal distribution at `x`, without the factor that all have.
double Density(double x, double variance) {
  return std::exp(-x * x / (2 * variance)) / std::sqrt(variance);
}

// The expected logarithm of the speed, given that `measured` was seen with that noise.
double ExpectedLogSpeed(double measured, double noise) {
  const double noise_variance = noise * noise;
  const double unchanged_variance = kUnchangedDeviation * kUnchangedDeviation;
  const double changed_variance = kChangedDeviation * kChangedDeviation;
  const double unchanged = kUnchangedShare * Density(measured, unchanged_variance + noise_variance);
  const double changed =
      (1 - kUnchangedShare) * Density(measured, changed_variance + noise_variance);
  const auto shrunk = [&](double variance) {
    return measured * variance / (variance + noise_variance);
  };
  // Far out both densities are zero to a computer; the wider one is larger there.
  if (!(unchanged + changed > 0)) return shrunk(changed_variance);
  return (unchanged * shrunk(unchanged_variance) + changed * shrunk(changed_variance)) /
         (unchanged + changed);
}

double ExpectedSpeed(std::vector<double> measured, const std::optional<Figure>& yardstick,
                     Seconds time) {
  if (!yardstick.has_value()) return 1;
  const auto count = static_cast<double>(measured.size());
  const double noise = NoiseOfSpeed(*yardstick, Seconds{std::max(1e-3, time.value) * count});
  return std::exp(ExpectedLogSpeed(std::log(Median(std::move(measured))), noise));
}

}  // namespace

double NoiseOfSpeed(const Figure& yardstick, Seconds time) {
  return std::max(kLeastNoise,
                  yardstick.origin.spread * std::sqrt(kSpeedWindow.value / time.value));
}

MachineSpeed ExpectSpeed(const HardwareProfile& profile, std::span<const MachineSpeed> measured,
                         Seconds time) {
  CHECK(!measured.empty());
  std::vector<double> gemm;
  std::vector<double> memory;
  for (const MachineSpeed& speed : measured) {
    gemm.push_back(speed.gemm);
    memory.push_back(speed.memory);
  }
  return {
      .gemm = ExpectedSpeed(std::move(gemm), profile.host.yardstick_flops_per_second, time),
      .memory = ExpectedSpeed(std::move(memory), profile.host.yardstick_bytes_per_second, time)};
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
  Scale(device.head, speed.gemm);
  Scale(device.experts, speed.gemm);
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
