// What a person reads of a machine: a summary that says what binds, and figures with their noise.
#include "app/answers/machine_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "app/answers/machine_summary.h"
#include "planner/profile/profile_cache.h"
#include "tests/simulator/test_profile.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kNow = 1'700'000'000;
constexpr uint64_t kGiB = uint64_t{1} << 30;

Origin Measured(int64_t repeats, double spread) {
  return {.kind = OriginKind::kMeasured,
          .source = "a probe",
          .when = "2026-02-03",
          .repeats = repeats,
          .spread = spread};
}

HardwareProfile MeasuredProfile() {
  HardwareProfile profile = TestProfile();
  profile.measured_on = MeasuredNow({.processor = "P",
                                     .cores = 1,
                                     .hardware_threads = 64,
                                     .memory_bytes = Bytes(32 * kGiB),
                                     .device = "host"},
                                    kNow - 7200);
  HostProfile& host = profile.host;
  host.memory_bytes = {.value = 20.0 * kGiB, .origin = Measured(1, 0)};
  host.cores = 1;
  host.topology = HostTopology{.sockets = 2,
                               .cores = 32,
                               .hardware_threads = 64,
                               .l2_bytes = Bytes(1 << 20),
                               .l3_bytes = Bytes(32 << 20),
                               .l3_caches = 2,
                               .nodes = {{0, 16_GiB, 32, 64}, {1, 16_GiB, 0, 0}}};
  host.allowance = HostAllowance{.total_memory_bytes = Bytes(32 * kGiB),
                                 .locked_memory_bytes = Bytes(8 << 20),
                                 .huge_pages = HugePageMode::kMadvise,
                                 .hardware_threads = 2,
                                 .quota_cores = 1.5};
  return profile;
}

TEST(MachineSummary, SaysHowTheHostIsBuiltAndWhatMayBeUsedOfIt) {
  HardwareProfile profile = MeasuredProfile();
  EXPECT_THAT(
      MachineSummary(profile, kNow),
      AllOf(
          HasSubstr("\nmeasured: 2023-11-14 20:13 UTC, 2 hours old\n"),
          HasSubstr(": 2 sockets, 32 cores, 64 hardware threads; L2 1 MiB, L3 2 x 32 MiB\n"),
          HasSubstr("(2 of 64 hardware threads by affinity; 1.5 cores' worth of time by quota)\n"),
          HasSubstr("\nnodes: node 0: 16 GiB, 32 cores; node 1: 16 GiB, no cores\n"),
          HasSubstr("\nmemory: 20 GiB can be used: what is free of 32 GiB\n"),
          HasSubstr("\npages: huge pages madvise; may lock 8 MiB (ulimit -l)\n")));
  profile.host.allowance->swap_bytes = Bytes(4 * kGiB);
  profile.host.allowance->swap_free_bytes = Bytes(3 * kGiB);
  profile.host.allowance->huge_page_pool_bytes = Bytes(2 * kGiB);
  profile.host.allowance->huge_page_pool_free_bytes = Bytes(kGiB);
  profile.host.allowance->locked_memory_bytes = 0_B;
  EXPECT_THAT(MachineSummary(profile, kNow),
              AllOf(HasSubstr("what is free of 32 GiB, swap 3 GiB of 4 GiB free\n"),
                    HasSubstr("huge pages madvise, 1 GiB of 2 GiB set aside are free; may lock any "
                              "amount\n")));
}

TEST(MachineSummary, NamesTheLimitOfMemoryThatBinds) {
  HardwareProfile profile = MeasuredProfile();
  HostAllowance& allowance = *profile.host.allowance;
  const auto limit = [&](uint64_t group, uint64_t space) {
    allowance.control_group_bytes = Bytes(group * kGiB);
    allowance.address_space_bytes = Bytes(space * kGiB);
    const uint64_t least = group == 0 ? space : space == 0 ? group : std::min(group, space);
    profile.host.cgroup_bytes =
        Figure{.value = static_cast<double>(least * kGiB), .origin = Measured(1, 0)};
    return MachineSummary(profile, kNow);
  };
  EXPECT_THAT(limit(10, 0), HasSubstr("memory: 10 GiB can be used: the limit of the control group "
                                      "binds; 20 GiB of 32 GiB are free\n"));
  EXPECT_THAT(limit(10, 6),
              HasSubstr("memory: 6 GiB can be used: the limit of `ulimit -v` binds; 20 GiB of 32 "
                        "GiB are free, the control\n        group allows 10 GiB\n"));
  EXPECT_THAT(limit(30, 0), HasSubstr("memory: 20 GiB can be used: what is free of 32 GiB, the "
                                      "control group allows 30 GiB\n"));
}

TEST(MachineSummary, PointsOutALinkBelowItsBest) {
  HardwareProfile profile = MeasuredProfile();
  EXPECT_THAT(MachineSummary(profile, kNow), Not(HasSubstr("PCIe")));
  profile.link.pcie = PcieState{
      .generation = 1, .width = 4, .best_generation = 4, .best_width = 16, .under_load = true};
  EXPECT_THAT(MachineSummary(profile, kNow),
              AllOf(HasSubstr("; PCIe gen 1 x4 under load\n"),
                    HasSubstr("\nlook: the link runs below its best: gen 1 x4 under load of gen 4 "
                              "x16 (4 of 16 lanes)")));
  profile.link.pcie->generation = 4;
  profile.link.pcie->width = 16;
  EXPECT_THAT(MachineSummary(profile, kNow), Not(HasSubstr("\nlook:")));
}

TEST(MachineText, CountsTheNoisyFiguresAndShowsRepeatsAndSpread) {
  HardwareProfile profile = MeasuredProfile();
  profile.device.launch_seconds.origin = Measured(7, 0.034);
  profile.host.pack.origin = Measured(12, 0.31);
  const std::string text = MachineText(profile, kNow);
  EXPECT_THAT(
      text,
      AllOf(HasSubstr("\nnoise: 1 of 3 measured figures is noisy (spread above 10 %): host.pack; "
                      "run again on an idle machine\n"),
            ContainsRegex("\nfigure +value +repeats +spread +origin +note\n"),
            ContainsRegex("\ndevice.launch_seconds +[^ ]+ [^ ]+ +7 +3\\.4 % +measured"),
            ContainsRegex("\nhost.pack at [^\n]+ +12 +31 % noisy +measured"),
            ContainsRegex("\nhost.memory_bytes +20 GiB +1 +measured"),
            HasSubstr("(a measured one is the median of its repeats):\n"),
            HasSubstr("] a probe (2026-02-03)\n")));
  profile.host.pack.origin.spread = 0.1;
  EXPECT_THAT(MachineText(profile, kNow),
              HasSubstr("\nnoise: none of 3 measured figures is noisy (spread above 10 %)\n"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST(MachineText, NamesNoMoreNoisyFiguresThanAnybodyReads) {
  HardwareProfile profile = MeasuredProfile();
  for (Curve& curve : profile.host.adam) curve.origin = Measured(3, 2.1);
  for (Curve* curve : {&profile.link.h2d_pinned, &profile.link.d2h_pinned, &profile.host.dram,
                       &profile.host.pack}) {
    curve->origin = Measured(3, 2.1);
  }
  EXPECT_THAT(
      MachineText(profile, kNow),
      AllOf(HasSubstr("8 of 9 measured figures are noisy"),
            HasSubstr("8bit-moments and 2 more; run\n       again"), HasSubstr(" 210 % noisy ")));
}

TEST(MachineText, OfACatalogsMachineHasNothingOfMeasurements) {
  EXPECT_THAT(MachineText(TestProfile(), kNow),
              AllOf(ContainsRegex("\nfigure +value +origin +note\n"), Not(HasSubstr("noise:")),
                    Not(HasSubstr("measured:")), Not(HasSubstr("pages:")),
                    HasSubstr("\nWhere the figures come from:\n")));
}

TEST(WrappedLine, IndentsToTheTextAndNeverSplitsAWord) {
  const std::string word(60, 'x');
  EXPECT_EQ(WrappedLine("a:", "b c"), "a: b c\n");
  EXPECT_EQ(WrappedLine("a:", word + " " + word), "a: " + word + "\n   " + word + "\n");
  const std::string longest(120, 'y');
  EXPECT_EQ(WrappedLine("a:", longest), "a: " + longest + "\n");
}

TEST(MachineText, FitsATerminalOfEightyColumns) {
  std::istringstream lines(MachineText(TestProfile(), kNow, 80));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_EQ(MachineText(TestProfile(), kNow, 400).find("  \n"), std::string::npos);
}

}  // namespace
}  // namespace horizon
