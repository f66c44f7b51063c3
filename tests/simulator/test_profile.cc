#include "tests/simulator/test_profile.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace horizon {
namespace {

const Origin kOrigin{.kind = OriginKind::kAssumed, .source = "a test"};

Figure Of(double value) { return {.value = value, .origin = kOrigin}; }
Curve Flat(double rate) { return {.points = {{1, rate}}, .origin = kOrigin}; }
// By threads, from one to all eight cores.
Curve ByThreads(double one, double all) {
  return {.points = {{1, one}, {8, all}}, .origin = kOrigin};
}

double RandomFactor() {
  // Evenly over the logarithm.
  const double exponent = *rc::gen::inRange(-1000, 1001) / 1000.0;
  return std::pow(20.0, exponent);
}

void Scale(Figure& figure) { figure.value *= RandomFactor(); }
void Scale(Curve& curve) { curve = Scaled(std::move(curve), RandomFactor()); }

}  // namespace

HardwareProfile TestProfile() {
  HardwareProfile profile;
  profile.name = "test";
  profile.summary = "round numbers";
  profile.device = {.kind = DeviceKind::kCuda,
                    .name = "device",
                    .memory_bytes = Of(8e9),
                    .reserved_bytes = Of(5e8),
                    .memory_bytes_per_second = Of(1e11),
                    .element_bytes_per_second = Of(5e10),
                    .launch_seconds = Of(1e-6),
                    .gemm_bf16 = Flat(1e12),
                    .gemm_fp32 = Flat(1e11),
                    .attention = Flat(5e11)};
  profile.link = {.latency_seconds = Of(1e-6),
                  .h2d_pinned = Flat(1e10),
                  .h2d_pageable = Flat(5e9),
                  .d2h_pinned = Flat(8e9),
                  .d2h_pageable = Flat(4e9),
                  .both_ways_bytes_per_second = Of(1.2e10)};
  profile.host.name = "host";
  profile.host.memory_bytes = Of(64e9);
  profile.host.cores = 8;
  profile.host.dram = ByThreads(1e10, 4e10);
  for (int format = 0; format < kStateFormatCount; ++format) {
    profile.host.adam[format] = ByThreads(1e8 * (format + 1), 4e8 * (format + 1));
  }
  profile.host.pack = ByThreads(5e9, 2e10);
  profile.host.process_bytes = Of(1e8);
  profile.disks = {
      {.path = "/", .read_bytes_per_second = Of(2e9), .write_bytes_per_second = Of(1e9)}};
  return profile;
}

HardwareProfile HostTestProfile() {
  HardwareProfile profile = TestProfile();
  profile.device.kind = DeviceKind::kHost;
  return profile;
}

rc::Gen<HardwareProfile> RandomProfile() {
  return rc::gen::exec([] {
    HardwareProfile profile = TestProfile();
    DeviceProfile& device = profile.device;
    for (Figure* figure :
         {&device.memory_bytes, &device.reserved_bytes, &device.memory_bytes_per_second,
          &device.element_bytes_per_second, &device.launch_seconds, &profile.link.latency_seconds,
          &profile.link.both_ways_bytes_per_second, &profile.host.memory_bytes,
          &profile.host.process_bytes}) {
      Scale(*figure);
    }
    for (Curve* curve :
         {&device.gemm_bf16, &device.gemm_fp32, &device.attention, &profile.host.dram,
          &profile.host.pack, &profile.link.h2d_pinned, &profile.link.d2h_pinned}) {
      Scale(*curve);
    }
    for (Curve& adam : profile.host.adam) Scale(adam);
    profile.link.h2d_pageable = Scaled(profile.link.h2d_pinned, std::min(1.0, RandomFactor()));
    profile.link.d2h_pageable = Scaled(profile.link.d2h_pinned, std::min(1.0, RandomFactor()));
    profile.host.cores = *rc::gen::inRange<int64_t>(1, 17);
    device.kind = *rc::gen::element(DeviceKind::kCuda, DeviceKind::kCuda, DeviceKind::kHost);
    if (*rc::gen::arbitrary<bool>()) {
      for (const Lane work : {Lane::kH2d, Lane::kCompute, Lane::kOptimizer}) {
        for (const Lane beside : {Lane::kD2h, Lane::kHost}) {
          // Above 1 is noise that changes nothing.
          profile.contention.push_back(
              {work, beside, {.value = *rc::gen::inRange(100, 1100) / 1000.0}});
          profile.contention.back().speed.origin.source = "made up";
        }
      }
    }
    return profile;
  });
}

}  // namespace horizon
