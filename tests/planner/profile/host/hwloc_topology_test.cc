// Machines made up in hwloc's own words, and the one the test runs on.
#include "planner/profile/host/hwloc_topology.h"

#include <gtest/gtest.h>

#include <string>

namespace horizon {
namespace {

HostTopology Read(const std::string& synthetic) {
  const absl::StatusOr<HostTopology> topology = ReadHwlocTopology(synthetic);
  EXPECT_TRUE(topology.ok()) << topology.status();
  return topology.value_or(HostTopology());
}

TEST(HwlocTopology, TwoSocketsWithTwoThreadsACore) {
  const HostTopology topology =
      Read("pack:2 [numa(memory=68719476736)] l3:2(size=33554432) l2:4(size=524288) core:1 pu:2");
  EXPECT_EQ(topology.sockets, 2);
  EXPECT_EQ(topology.cores, 16);
  EXPECT_EQ(topology.hardware_threads, 32);
  EXPECT_EQ(topology.l2_bytes, 524288_B);
  EXPECT_EQ(topology.l3_bytes, 33554432_B);
  EXPECT_EQ(topology.l3_caches, 4);
  ASSERT_EQ(topology.nodes.size(), 2u);
  for (int64_t i = 0; i < 2; ++i) {
    EXPECT_EQ(topology.nodes[i].number, i);
    EXPECT_EQ(topology.nodes[i].memory_bytes, Bytes(uint64_t{64} << 30));
    EXPECT_EQ(topology.nodes[i].cores, 8);
    EXPECT_EQ(topology.nodes[i].hardware_threads, 16);
  }
}

TEST(HwlocTopology, SeveralNodesASocketAndNoCaches) {
  const HostTopology topology = Read("pack:1 numa:4 core:3 pu:1");
  EXPECT_EQ(topology.sockets, 1);
  EXPECT_EQ(topology.cores, 12);
  EXPECT_EQ(topology.hardware_threads, 12);
  EXPECT_EQ(topology.l2_bytes, 0_B);
  EXPECT_EQ(topology.l3_bytes, 0_B);
  EXPECT_EQ(topology.l3_caches, 0);
  ASSERT_EQ(topology.nodes.size(), 4u);
  EXPECT_EQ(topology.nodes[3].cores, 3);
}

TEST(HwlocTopology, ThreadsAloneAreOneSocketOfCores) {
  const HostTopology topology = Read("pu:6");
  EXPECT_EQ(topology.sockets, 1);
  EXPECT_EQ(topology.cores, 6);
  EXPECT_EQ(topology.hardware_threads, 6);
  ASSERT_EQ(topology.nodes.size(), 1u);
  EXPECT_EQ(topology.nodes[0].hardware_threads, 6);
}

TEST(HwlocTopology, WordsThatMeanNoMachineAreRefused) {
  for (const std::string words : {"nonsense", "pack:0", "core:x", "pu:1 core:2"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ReadHwlocTopology(words).status())) << words;
  }
}

TEST(HwlocTopology, OfThisMachineMakesSense) {
  const HostTopology topology = Read("");
  EXPECT_GE(topology.cores, topology.sockets);
  EXPECT_GE(topology.hardware_threads, topology.cores);
  int64_t threads = 0;
  for (const NumaNode& node : topology.nodes) threads += node.hardware_threads;
  EXPECT_GE(threads, topology.hardware_threads);
}

}  // namespace
}  // namespace horizon
