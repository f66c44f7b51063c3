#include "planner/machines/scale_dram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "planner/machines/machine_catalog.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Counted by hand for each StateFormat: fp32, bf16-moments, 8bit-moments (two fp32 scales for 256
// parameters), bf16-weights. Weight and moments are read and written, the bf16 gradient is read.
constexpr std::array<double, kStateFormatCount> kAdamBytes = {26, 18, 14.0625, 22};

HardwareProfile Machine(const std::string& name) {
  const std::unique_ptr<Io> io = MakePosixIo();
  absl::StatusOr<HardwareProfile> machine = LoadMachine(*io, name);
  EXPECT_TRUE(machine.ok()) << machine.status();
  return *machine;
}

HardwareProfile WithRate(HardwareProfile machine, double rate) {
  return WithDram(std::move(machine), BytesPerSecond{rate}, "given");
}

TEST(WithDram, MakesItsHighestRateTheGivenOne) {
  const HardwareProfile before = Machine("rtx4090");
  const HardwareProfile after = WithRate(before, 300e9);
  const double factor = 300e9 / before.host.dram.Highest();
  EXPECT_DOUBLE_EQ(after.host.dram.Highest(), 300e9);
  for (const double threads : {1, 2, 3, 8, 64}) {
    EXPECT_DOUBLE_EQ(after.host.dram.At(threads), factor * before.host.dram.At(threads));
  }
  for (const double threads : {1, 16}) {
    EXPECT_DOUBLE_EQ(after.host.pack.At(threads), factor * before.host.pack.At(threads));
    EXPECT_DOUBLE_EQ(after.host.adam[0].At(threads), factor * before.host.adam[0].At(threads));
  }
  EXPECT_EQ(after.host.dram.origin.kind, OriginKind::kAssumed);
  EXPECT_THAT(after.host.dram.origin.source, AllOf(HasSubstr("given: "), HasSubstr(" x "),
                                                   HasSubstr(before.host.dram.origin.source)));
}

TEST(WithDram, LeavesWhatIsNotBoundByIt) {
  const HardwareProfile before = Machine("rtx4090");
  const HardwareProfile after = WithRate(before, 300e9);
  EXPECT_EQ(after.link.h2d_pinned, before.link.h2d_pinned);
  EXPECT_EQ(after.device.memory_bytes_per_second, before.device.memory_bytes_per_second);
  EXPECT_EQ(after.device.gemm_bf16, before.device.gemm_bf16);
  EXPECT_EQ(after.host.memory_bytes, before.host.memory_bytes);
  EXPECT_EQ(after.host.cores, before.host.cores);
}

TEST(WithDram, OnADeviceThatIsTheHostScalesItsMemoryAndCopiesToo) {
  const HardwareProfile before = Machine("cpu-desktop");
  const HardwareProfile after = WithRate(before, 2 * before.host.dram.Highest());
  EXPECT_DOUBLE_EQ(after.device.memory_bytes_per_second.value,
                   2 * before.device.memory_bytes_per_second.value);
  EXPECT_DOUBLE_EQ(after.device.element_bytes_per_second.value,
                   2 * before.device.element_bytes_per_second.value);
  EXPECT_DOUBLE_EQ(after.link.h2d_pinned.Highest(), 2 * before.link.h2d_pinned.Highest());
  EXPECT_DOUBLE_EQ(after.link.d2h_pageable.Highest(), 2 * before.link.d2h_pageable.Highest());
  EXPECT_DOUBLE_EQ(after.link.both_ways_bytes_per_second.value,
                   2 * before.link.both_ways_bytes_per_second.value);
  EXPECT_EQ(after.device.gemm_fp32, before.device.gemm_fp32);
}

// Whatever the rate, at every number of threads.
TEST(WithDram, NothingMovesMoreBytesThanDramCarries) {
  for (const std::string& name : MachineNames()) {
    for (const double rate : {1e9, 40e9, 300e9, 5e12}) {
      const HostProfile host = WithRate(Machine(name), rate).host;
      for (double threads = 1; threads < 600; threads *= 1.3) {
        const double most = host.dram.At(threads) * (1 + 1e-12);
        EXPECT_LE(host.pack.At(threads) * 2, most) << name;
        for (size_t f = 0; f < host.adam.size(); ++f) {
          EXPECT_LE(host.adam[f].At(threads) * kAdamBytes[f], most)
              << name << " with " << rate << ", format " << f << ", threads " << threads;
        }
      }
    }
  }
}

TEST(WithDram, CutsRatesThatWereAboveIt) {
  HardwareProfile machine = Machine("rtx4090");
  machine.host.dram.points = {{1, 10e9}, {8, 40e9}, {32, 50e9}};
  machine.host.adam[0].points = {{1, 1e8}, {4, 4e9}};
  const HostProfile host = WithRate(machine, 100e9).host;
  EXPECT_DOUBLE_EQ(host.adam[0].At(1), 2e8) << "5.2 of 20 GB/s";
  EXPECT_DOUBLE_EQ(host.adam[0].At(8), 80e9 / 26);
  EXPECT_DOUBLE_EQ(host.adam[0].At(32), 100e9 / 26);
  EXPECT_THAT(host.adam[0].origin.source, HasSubstr("no more than DRAM carries"));
}

TEST(WithDram, ComesBackToWhereItWas) {
  const HardwareProfile before = Machine("rtx4090");
  const HardwareProfile after = WithRate(WithRate(before, 300e9), before.host.dram.Highest());
  for (const double threads : {1, 5, 16}) {
    EXPECT_NEAR(after.host.adam[0].At(threads) / before.host.adam[0].At(threads), 1, 1e-12);
    EXPECT_NEAR(after.host.dram.At(threads) / before.host.dram.At(threads), 1, 1e-12);
  }
}

TEST(WithOverrides, DramIsShownAndALinkGivenBesideItStays) {
  const HardwareProfile after = WithOverrides(
      Machine("cpu-desktop"), {.dram = BytesPerSecond{100e9}, .link = BytesPerSecond{7e9}});
  EXPECT_THAT(MachineHeading(after),
              HasSubstr("\n  as if with DRAM of 100 GB/s, a link of 7 GB/s"));
  EXPECT_DOUBLE_EQ(after.host.dram.Highest(), 100e9);
  EXPECT_DOUBLE_EQ(after.link.h2d_pinned.Highest(), 7e9);
}

}  // namespace
}  // namespace horizon
