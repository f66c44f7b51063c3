// The probe on a clock whose every look is a second later than the one before: each measurement is
// made once and takes a second, so that rates are the amounts of work.
#include "planner/profile/probe_host.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "common/documents/json.h"
#include "planner/profile/host/host_limits.h"
#include "planner/profile/host_rates.h"

namespace horizon {
namespace {

class TickingClock final : public Clock {
 public:
  Nanoseconds Now() override { return std::chrono::seconds(++seconds_); }
  bool WaitUntil(Nanoseconds, std::stop_token) override { return true; }

 private:
  std::atomic<int64_t> seconds_{0};
};

std::vector<double> XsOf(const Curve& curve) {
  std::vector<double> xs;
  for (const Curve::Point& point : curve.points) xs.push_back(point.x);
  return xs;
}

void ExpectMeasured(const Origin& origin) {
  EXPECT_EQ(origin.kind, OriginKind::kMeasured) << origin.source;
  EXPECT_GE(origin.repeats, 1) << origin.source;
  EXPECT_FALSE(origin.source.empty());
  EXPECT_EQ(origin.when, "2026-11-16");
}

TEST(HostRates, AreTheWorkOfOneSecond) {
  TickingClock clock;
  HardwareProfile profile;
  const absl::Status measured = MeasureHostRates(
      clock, {.time = {0.001}, .cores = 3, .arena_bytes = kLeastArenaBytes, .when = "2026-11-16"},
      profile);
  ASSERT_TRUE(measured.ok()) << measured;
  constexpr double kThird = 8 << 20;
  const DeviceProfile& device = profile.device;
  // Products of 10^9 flops, as far as a third of the arena holds their sides.
  EXPECT_EQ(XsOf(device.gemm_fp32), (std::vector<double>{16, 64, 256, 768}));
  const std::vector<double> sides = {1408, 1408, 1376, 800};
  for (size_t i = 0; i < sides.size(); ++i) {
    const Curve::Point& point = device.gemm_fp32.points[i];
    EXPECT_DOUBLE_EQ(point.y, 3 * 2 * point.x * sides[i] * sides[i]);
  }
  ASSERT_TRUE(device.gemm_share.has_value());
  EXPECT_EQ(device.gemm_share->points.size(), 5u);
  for (const Curve::Point& point : device.gemm_share->points) {
    EXPECT_NEAR(point.y * device.gemm_fp32.At(std::cbrt(point.x / 2)), 3 * point.x, 1e-9 * point.x);
  }
  EXPECT_EQ(device.gemm_bf16.points, device.gemm_fp32.points);
  EXPECT_EQ(XsOf(device.attention), (std::vector<double>{256, 1024}));
  EXPECT_EQ(device.attention.points[0].y, 14.0 * 4 * 256 * 257 / 2 * 512);
  EXPECT_EQ(device.attention.points[1].y, 14.0 * 1024 * 1025 / 2 * 512);
  // With 128 tokens the weights of 7 tiles of the vocabulary fit a third; three cores have 2 each.
  // With 512 tokens the logits of 7 fit.
  ASSERT_TRUE(device.head.has_value());
  EXPECT_EQ(XsOf(*device.head), (std::vector<double>{128, 512}));
  EXPECT_EQ(device.head->points[0].y, 6.0 * 128 * 6 * 512 * 512);
  EXPECT_EQ(device.head->points[1].y, 6.0 * 512 * 6 * 512 * 512);
  ExpectMeasured(device.head->origin);
  EXPECT_EQ(device.element_bytes_per_second.value, 5.0 * kThird / 4);
  EXPECT_EQ(device.launch_seconds.value, 1.0);
  EXPECT_EQ(profile.link.latency_seconds.value, 1.0);
  for (const Curve* curve : {&profile.link.h2d_pinned, &profile.link.h2d_pageable,
                             &profile.link.d2h_pinned, &profile.link.d2h_pageable}) {
    EXPECT_EQ(XsOf(*curve), (std::vector<double>{1 << 16, 1 << 20, 1 << 22}));
    for (const Curve::Point& point : curve->points) EXPECT_EQ(point.y, point.x);
    ExpectMeasured(curve->origin);
  }
  EXPECT_EQ(profile.link.both_ways_bytes_per_second.value, 1 << 22);
  const std::vector<double> threads = {1, 2, 3};
  EXPECT_EQ(XsOf(profile.host.dram), threads);
  EXPECT_EQ(profile.host.dram.points[1].y, 12.0 * kThird / 4);
  EXPECT_EQ(profile.host.pack.points[2].y, kThird);
  EXPECT_EQ(profile.host.accumulate->points[2].y, 2 * kThird);  // read and written
  EXPECT_EQ(profile.host.norm->points[2].y, kThird);
  EXPECT_EQ(profile.host.yardstick_flops_per_second->value, 2.0 * 512 * 512 * 512);
  // Half the least arena in two arrays of three pieces, 12 bytes a value.
  EXPECT_EQ(profile.host.yardstick_bytes_per_second->value, (12 << 20) / 24.0 * 12);
  EXPECT_EQ(device.memory_bytes_per_second.value, profile.host.dram.Highest());
  for (const Curve& adam : profile.host.adam) {
    EXPECT_EQ(XsOf(adam), threads);
    EXPECT_EQ(adam.points[0].y, 3 * kThird / 32);
    ExpectMeasured(adam.origin);
    EXPECT_EQ(adam.origin.repeats, 1);
  }
}

TEST(ProbeHost, GivesAProfileThatCanBeWrittenAndReadBack) {
  TickingClock clock;
  const std::unique_ptr<Io> io = MakePosixIo();
  const absl::StatusOr<HardwareProfile> profile = ProbeHost(
      *io, clock, {.time = {0.001}, .device_memory = 1_GiB, .threads = 2, .when = "2026-11-16"});
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(profile->device.kind, DeviceKind::kHost);
  EXPECT_EQ(profile->device.memory_bytes.value, 1 << 30);
  EXPECT_EQ(profile->host.cores, 2);
  ExpectMeasured(profile->host.process_bytes.origin);
  EXPECT_GT(profile->host.process_bytes.value, 16 << 20);
  // Five lanes, each beside the four others.
  EXPECT_EQ(profile->contention.size(), 20u);
  for (const LaneContention& pair : profile->contention) ExpectMeasured(pair.speed.origin);
  ASSERT_TRUE(profile->host.compute_weight.has_value());
  ExpectMeasured(profile->host.compute_weight->origin);
  EXPECT_EQ(profile->host.compute_weight->origin.repeats, 4);
  const absl::StatusOr<HostLimits> limits = ReadHostLimits(*io);
  ASSERT_TRUE(limits.ok());
  EXPECT_LE(profile->host.memory_bytes.value, static_cast<double>(limits->total_memory.value()));
  const std::string text = WriteProfile(*profile);
  const absl::StatusOr<Document> document = ParseJson("profile.json", text);
  ASSERT_TRUE(document.ok()) << document.status();
  const absl::StatusOr<HardwareProfile> again = ReadProfile(*document);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(WriteProfile(*again), text);
}

TEST(ProbeHost, TakesTheMachinesCoresAndAQuarterOfItsRamWhereNothingIsSaid) {
  TickingClock clock;
  const std::unique_ptr<Io> io = MakePosixIo();
  const absl::StatusOr<HardwareProfile> profile = ProbeHost(*io, clock, {.time = {0.001}});
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(profile->host.cores, ReadHostLimits(*io)->cores);
  EXPECT_EQ(XsOf(profile->host.dram).back(), static_cast<double>(profile->host.cores));
  EXPECT_EQ(profile->device.memory_bytes.value, std::floor(profile->usable_host_bytes() / 4));
}

TEST(ProbeHost, OneCoreHasNothingBesideIt) {
  TickingClock clock;
  const std::unique_ptr<Io> io = MakePosixIo();
  std::vector<int64_t> told;
  const absl::StatusOr<HardwareProfile> profile = ProbeHost(
      *io, clock, {.time = {0.001}, .threads = 1, .on_measured = [&](int64_t done, int64_t total) {
                     told.push_back(total - done);
                   }});
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_TRUE(profile->contention.empty());
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.back(), 0);
}

// A profile that was measured some time ago, on a machine that is fuller now.
TEST(SetHostMemory, TakesWhatThereIsNow) {
  HostLimits limits;
  limits.total_memory = 64_GiB;
  limits.available_memory = 40_GiB;
  limits.cgroup_memory = 16_GiB;
  limits.memlock = 8_MiB;
  HardwareProfile profile;
  profile.device.kind = DeviceKind::kHost;
  SetHostMemory(limits, profile);
  EXPECT_EQ(profile.host.memory_bytes.value, 40.0 * (1 << 30));
  EXPECT_EQ(profile.usable_host_bytes(), 16.0 * (1 << 30));
  EXPECT_EQ(profile.device.memory_bytes.value, 4.0 * (1 << 30));
  ASSERT_TRUE(profile.host.memlock_bytes.has_value());
  EXPECT_EQ(profile.host.memlock_bytes->value, 8.0 * (1 << 20));
  limits.cgroup_memory.reset();
  profile.device.kind = DeviceKind::kCuda;
  SetHostMemory(limits, profile);
  EXPECT_EQ(profile.usable_host_bytes(), 40.0 * (1 << 30));
  EXPECT_EQ(profile.device.memory_bytes.value, 4.0 * (1 << 30));  // its own, not ours
  EXPECT_FALSE(profile.host.memlock_bytes.has_value());
}

}  // namespace
}  // namespace horizon
