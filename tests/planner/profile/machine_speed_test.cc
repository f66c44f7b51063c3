#include "planner/profile/machine_speed.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>
#include <vector>

#include "common/host_memory.h"
#include "planner/profile/yardstick.h"

namespace horizon {
namespace {

// Every look at it is a millisecond later than the one before.
class TickingClock final : public Clock {
 public:
  Nanoseconds Now() override { return now_ += std::chrono::milliseconds(1); }
  bool WaitUntil(Nanoseconds, std::stop_token) override { return true; }

 private:
  Nanoseconds now_{0};
};

HardwareProfile Measured(DeviceKind kind) {
  HardwareProfile profile;
  profile.device.kind = kind;
  profile.device.gemm_fp32.points = {{1, 8.0}};
  profile.device.element_bytes_per_second.value = 8.0;
  profile.device.launch_seconds.value = 8.0;
  profile.device.gemm_share = Curve{.points = {{1, 0.5}}};
  profile.device.head = Curve{.points = {{1, 8.0}}};
  profile.link.h2d_pinned.points = {{1, 8.0}};
  profile.link.limit_bytes_per_second = Figure{.value = 8.0};
  profile.host.dram.points = {{1, 8.0}};
  profile.host.adam[0].points = {{1, 8.0}};
  profile.host.norm = Curve{.points = {{1, 8.0}}};
  profile.host.yardstick_flops_per_second = Figure{.value = 8.0};
  profile.host.yardstick_bytes_per_second = Figure{.value = 8.0};
  return profile;
}

TEST(MachineSpeed, IsOneWhereAProfileHasNoYardsticks) {
  TickingClock clock;
  const absl::StatusOr<MachineSpeed> speed = MeasureSpeed(clock, HardwareProfile(), 1);
  ASSERT_TRUE(speed.ok());
  EXPECT_EQ(speed->gemm, 1);
  EXPECT_EQ(speed->memory, 1);
}

// On this clock each yardstick takes a millisecond; in the profile it took a second.
TEST(MachineSpeed, IsAShareOfTheProfiles) {
  TickingClock clock;
  HardwareProfile profile = Measured(DeviceKind::kHost);
  profile.host.yardstick_flops_per_second->value = Yardstick::kFlops;
  // 12 bytes for each value of a piece: two arrays of three pieces make up the memory.
  profile.host.yardstick_bytes_per_second->value =
      static_cast<double>(Yardstick::kMemoryBytes / 24) * 12.0;
  const absl::StatusOr<MachineSpeed> speed =
      MeasureSpeed(clock, profile, 2, {.time = Seconds{0.01}});
  ASSERT_TRUE(speed.ok()) << speed.status();
  EXPECT_NEAR(speed->gemm, 1000, 1e-6);
  EXPECT_NEAR(speed->memory, 1000, 1e-6);
}

TEST(MachineSpeed, OfProductsStandsForBothWhereMemoryMayNotBeTaken) {
  TickingClock clock;
  HardwareProfile profile = Measured(DeviceKind::kHost);
  profile.host.yardstick_flops_per_second->value = Yardstick::kFlops;
  const absl::StatusOr<MachineSpeed> speed = MeasureSpeed(
      clock, profile, 2, {.time = Seconds{0.01}, .max_extra_bytes = kMemorySpeedBytes - 1});
  ASSERT_TRUE(speed.ok()) << speed.status();
  EXPECT_NEAR(speed->gemm, 1000, 1e-6);
  EXPECT_EQ(speed->memory, speed->gemm);
}

TEST(MachineSpeed, IsNotLookedAtWithoutMemoryForIt) {
  TickingClock clock;
  const absl::StatusOr<MachineSpeed> speed =
      MeasureSpeed(clock, Measured(DeviceKind::kHost), 2, {.max_extra_bytes = kGemmSpeedBytes - 1});
  ASSERT_TRUE(speed.ok()) << speed.status();
  EXPECT_EQ(speed->gemm, 1);
  EXPECT_EQ(speed->memory, 1);
}

TEST(MachineSpeed, IsFoundInMemoryThatIsThereAlready) {
  TickingClock clock;
  HardwareProfile profile = Measured(DeviceKind::kHost);
  profile.host.yardstick_flops_per_second->value = Yardstick::kFlops;
  profile.host.yardstick_bytes_per_second->value =
      static_cast<double>(Yardstick::kMemoryBytes / 24) * 12.0;
  const absl::StatusOr<HostMemory> memory =
      HostMemory::Create(Yardstick::kMemoryBytes + 4096_B, {.populate = false});
  ASSERT_TRUE(memory.ok()) << memory.status();
  std::byte& behind = memory->data()[Yardstick::kMemoryBytes.value()];
  const absl::StatusOr<MachineSpeed> speed = MeasureSpeed(
      clock, profile, 2,
      {.time = Seconds{0.01}, .borrowed = memory->span(), .max_extra_bytes = kGemmSpeedBytes});
  ASSERT_TRUE(speed.ok()) << speed.status();
  EXPECT_NEAR(speed->memory, 1000, 1e-6);
  EXPECT_NE(memory->data()[3], std::byte{0}) << "it was used";
  EXPECT_EQ(behind, std::byte{0}) << "no more of it than is needed";
}

// A profile whose yardsticks were `spread` apart in windows of half a second.
HardwareProfile WithSpread(double spread) {
  HardwareProfile profile = Measured(DeviceKind::kHost);
  profile.host.yardstick_flops_per_second->origin.spread = spread;
  profile.host.yardstick_bytes_per_second->origin.spread = spread / 10;
  return profile;
}

double Expected(double spread, const std::vector<double>& measured) {
  std::vector<MachineSpeed> speeds;
  for (const double speed : measured) speeds.push_back({.gemm = speed, .memory = speed});
  return ExpectSpeed(WithSpread(spread), speeds, kSpeedWindow).gemm;
}

TEST(ExpectSpeed, IsTheProfilesWhereTheDifferenceIsNoise) {
  EXPECT_NEAR(Expected(0.06, {0.93}), 0.982, 1e-3);
  EXPECT_NEAR(Expected(0.06, {0.85}), 0.894, 1e-3);
  EXPECT_NEAR(Expected(0.06, {0.6}), 0.626, 1e-3);
  EXPECT_NEAR(Expected(0.06, {1.1}), 1.031, 1e-3);
  EXPECT_EQ(Expected(0.06, {1}), 1);
}

// The noise of three is smaller by the root of three, and one that fell into a slow moment counts
// no more than one above.
TEST(ExpectSpeed, OfSeveralMeasurementsIsTheirMedianAndSurer) {
  EXPECT_NEAR(Expected(0.06, {0.8, 0.8, 0.8}), 0.805, 1e-3);
  EXPECT_EQ(Expected(0.06, {0.8, 0.3, 1.2}), Expected(0.06, {0.8, 0.8, 0.8}));
  EXPECT_EQ(Expected(0.06, {0.2, 1, 1}), 1);
}

TEST(ExpectSpeed, ARunOfSteadyYardsticksIsBelieved) {
  EXPECT_NEAR(Expected(0, {0.8}), 0.802, 1e-3);
  EXPECT_NEAR(Expected(0, {0.001}), 0.001, 1e-4) << "far out";
  const MachineSpeed both = ExpectSpeed(
      WithSpread(0.2), std::vector<MachineSpeed>{{.gemm = 0.85, .memory = 0.85}}, kSpeedWindow);
  EXPECT_GT(both.gemm, 0.95);
  EXPECT_NEAR(both.memory, 0.85, 0.005) << "each kind by its own noise";
}

TEST(ExpectSpeed, LongerMeasurementsAreLessNoisy) {
  const Figure yardstick = {.value = 1, .origin = {.spread = 0.1}};
  EXPECT_DOUBLE_EQ(NoiseOfSpeed(yardstick, kSpeedWindow), 0.1);
  EXPECT_DOUBLE_EQ(NoiseOfSpeed(yardstick, {4 * kSpeedWindow.value}), 0.05);
  EXPECT_EQ(NoiseOfSpeed(yardstick, {1e6}), 0.02) << "never surer than that";
}

TEST(MachineSpeed, SetsEveryRateOfTheHostDevice) {
  const HardwareProfile now = AtSpeed(Measured(DeviceKind::kHost), {.gemm = 0.5, .memory = 0.25});
  EXPECT_EQ(now.device.gemm_fp32.At(1), 4);
  EXPECT_EQ(now.device.element_bytes_per_second.value, 4);
  EXPECT_EQ(now.device.launch_seconds.value, 16);
  EXPECT_EQ(now.device.gemm_share->At(1), 0.5) << "a share stays";
  EXPECT_EQ(now.device.head->At(1), 4);
  EXPECT_EQ(now.link.h2d_pinned.At(1), 2);
  EXPECT_EQ(now.link.limit_bytes_per_second->value, 8) << "a limit is a limit";
  EXPECT_EQ(now.host.dram.At(1), 2);
  EXPECT_EQ(now.host.adam[0].At(1), 2);
  EXPECT_EQ(now.host.norm->At(1), 4);
  EXPECT_EQ(now.host.yardstick_flops_per_second->value, 4);
  EXPECT_EQ(now.host.yardstick_bytes_per_second->value, 2);
}

TEST(MachineSpeed, LeavesAGpuAndItsLinkAlone) {
  const HardwareProfile now = AtSpeed(Measured(DeviceKind::kCuda), {.gemm = 0.5, .memory = 0.25});
  EXPECT_EQ(now.device.gemm_fp32.At(1), 8);
  EXPECT_EQ(now.link.h2d_pinned.At(1), 8);
  EXPECT_EQ(now.host.dram.At(1), 2);
}

}  // namespace
}  // namespace horizon
