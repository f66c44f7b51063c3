#include "planner/machines/machine_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "planner/machines/machine_catalog.h"

namespace horizon {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<NamedMachine>& Machines() {
  static const auto* const kMachines = new std::vector<NamedMachine>{
      {.name = "a100-pcie", .device = "NVIDIA A100 80GB PCIe", .memory_bytes = 80e9},
      {.name = "a100-sxm-40gb", .device = "NVIDIA A100-SXM4-40GB", .memory_bytes = 0x28p30},
      {.name = "a100-sxm", .device = "NVIDIA A100-SXM4-80GB", .memory_bytes = 0x50p30},
      {.name = "h100-pcie", .device = "NVIDIA H100 PCIe", .memory_bytes = 80e9},
      {.name = "h100-nvl", .device = "NVIDIA H100 NVL", .memory_bytes = 94e9},
      {.name = "h200", .device = "NVIDIA H200 SXM", .memory_bytes = 141e9},
      {.name = "gh200", .device = "NVIDIA GH200", .memory_bytes = 96e9},
      {.name = "rtx4090", .device = "NVIDIA GeForce RTX 4090", .memory_bytes = 25757220864},
      {.name = "rtx4070ti", .device = "NVIDIA GeForce RTX 4070 Ti", .memory_bytes = 12e9},
      {.name = "a6000", .device = "NVIDIA RTX A6000", .memory_bytes = 51527024640},
      {.name = "rtx-pro-6000", .device = "NVIDIA RTX PRO 6000", .memory_bytes = 96e9},
      {.name = "l40s", .device = "NVIDIA L40S", .memory_bytes = 48e9},
      {.name = "mi300x", .device = "AMD Instinct MI300X", .memory_bytes = 192e9},
      {.name = "cpu-desktop", .device = "16 cores with AVX2", .memory_bytes = 0x10p30}};
  return *kMachines;
}

std::vector<std::string> Called(const std::string& typed) {
  return MachinesCalled(typed, Machines());
}

TEST(MachinesCalled, KnowsAMachineAsPeopleTypeIt) {
  for (const char* typed :
       {"4090", "RTX 4090", "rtx-4090", "RTX4090", "GeForce RTX 4090", "NVIDIA GeForce RTX 4090",
        "nvidia_4090", "4090 24GB", "rtx 4090 (24 GiB)"}) {
    EXPECT_THAT(Called(typed), ElementsAre("rtx4090")) << typed;
  }
  for (const char* typed : {"4070 Ti", "4070ti", "RTX 4070 Ti", "rtx4070-ti"}) {
    EXPECT_THAT(Called(typed), ElementsAre("rtx4070ti")) << typed;
  }
  EXPECT_THAT(Called("NVIDIA H100 NVL"), ElementsAre("h100-nvl"));
  EXPECT_THAT(Called("H100NVL"), ElementsAre("h100-nvl"));
  EXPECT_THAT(Called("RTX A6000"), ElementsAre("a6000"));
  EXPECT_THAT(Called("rtx pro 6000"), ElementsAre("rtx-pro-6000"));
  EXPECT_THAT(Called("mi300x"), ElementsAre("mi300x"));
  EXPECT_THAT(Called("h200"), ElementsAre("h200"));
}

TEST(MachinesCalled, ListsEveryMachineThatIsMeant) {
  EXPECT_THAT(Called("h100"), ElementsAre("h100-pcie", "h100-nvl"));
  EXPECT_THAT(Called("a100"), ElementsAre("a100-pcie", "a100-sxm-40gb", "a100-sxm"));
  EXPECT_THAT(Called("nvidia a100 80gb"), ElementsAre("a100-pcie", "a100-sxm"));
  EXPECT_THAT(Called("A100-SXM4-40GB"), ElementsAre("a100-sxm-40gb"));
  EXPECT_THAT(Called("a100 sxm 80 GB"), ElementsAre("a100-sxm"));
}

TEST(MachinesCalled, TakesNoOtherMachineForTheOneThatIsMeant) {
  for (const char* typed : {"4070",
                            "4080",
                            "l40",
                            "mi300",
                            "6000",
                            "100",
                            "200",
                            "rtx 6000",
                            "4090 48GB",
                            "a100 64gb",
                            "h100 pcie sxm",
                            "cpu",
                            "ti",
                            "rtx",
                            "nvidia",
                            "gb",
                            "80gb",
                            "",
                            " ",
                            "-",
                            "4090x",
                            "40 90",
                            "rtx 4090 super",
                            "999999999999999999999gb 4090"}) {
    EXPECT_THAT(Called(typed), IsEmpty()) << typed;
  }
  EXPECT_THAT(Called(std::string(1'000'000, '4')), IsEmpty());
}

TEST(MachineNamesOfTheCatalog, AreEachFoundBySpellingItAndItsDevice) {
  const std::unique_ptr<Io> io = MakePosixIo();
  for (const std::string& name : MachineNames()) {
    const absl::StatusOr<HardwareProfile> machine = LoadMachine(*io, name);
    ASSERT_TRUE(machine.ok()) << machine.status();
    std::string spaced = name;
    std::replace(spaced.begin(), spaced.end(), '-', ' ');
    const absl::StatusOr<HardwareProfile> same = LoadMachine(*io, spaced);
    ASSERT_TRUE(same.ok()) << same.status();
    EXPECT_EQ(same->name, name);
  }
}

}  // namespace
}  // namespace horizon
