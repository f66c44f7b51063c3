#include "simulator/machine_facts.h"

#include <gtest/gtest.h>

namespace horizon {
namespace {

TEST(MachineFacts, WhatDiffersIsSaid) {
  const ProfiledHardware here{.processor = "P",
                              .cores = 12,
                              .hardware_threads = 24,
                              .memory_bytes = Bytes(uint64_t{64} << 30),
                              .device = "host"};
  ProfiledHardware there = here;
  EXPECT_EQ(DifferenceOf(here, there), "");
  there.cores = 2;
  there.memory_bytes = Bytes(uint64_t{1} << 30);
  there.device = "A GPU";
  EXPECT_EQ(
      DifferenceOf(here, there),
      "cores: 12 instead of 2, memory: 64 GiB instead of 1 GiB, device: host instead of A GPU");
  there = here;
  there.processor = "Q";
  there.hardware_threads = 12;
  there.numa_nodes = 2;
  EXPECT_EQ(DifferenceOf(here, there),
            "processor: P instead of Q, hardware threads: 24 instead of 12, NUMA nodes: 1 instead "
            "of 2");
  // Too near for the rounded text to tell.
  there = here;
  there.memory_bytes += 4096_B;
  EXPECT_EQ(DifferenceOf(here, there),
            "memory: 68,719,476,736 bytes instead of 68,719,480,832 bytes");
  EXPECT_EQ(ToString(here), "P, 12 cores, 64 GiB, device host");
}

TEST(MachineFacts, CoresAreSaidWithWhatLimitsThem) {
  EXPECT_EQ(CoresText({.hardware_threads = 8}, 8), "all 8 hardware threads");
  EXPECT_EQ(CoresText({.hardware_threads = 1}, 1), "the one hardware thread");
  EXPECT_EQ(CoresText({.hardware_threads = 2}, 64), "2 of 64 hardware threads by affinity");
  EXPECT_EQ(CoresText({.hardware_threads = 2, .quota_cores = 1.5}, 64),
            "2 of 64 hardware threads by affinity; 1.5 cores' worth of time by quota");
}

PcieState Link(int64_t generation, int64_t width, bool under_load) {
  return {.generation = generation,
          .width = width,
          .best_generation = 4,
          .best_width = 16,
          .under_load = under_load};
}

TEST(MachineFacts, ALinkBelowItsBestIsAProblemUnlessItRests) {
  EXPECT_EQ(LinkProblem(Link(4, 16, true)), "");
  EXPECT_EQ(LinkProblem(Link(4, 16, false)), "");
  EXPECT_EQ(
      LinkProblem(Link(1, 16, false)),
      "the link runs as gen 1 x16 at rest and could as gen 4 x16: usual while a device idles, "
      "look again under load");
  // 2.5 GT/s of 8 in 10 bits against 16 GT/s of 128 in 130.
  EXPECT_EQ(LinkProblem(Link(1, 16, true)),
            "the link runs below its best: gen 1 x16 under load of gen 4 x16 (16 of 16 lanes), at "
            "most 13 % of what it could carry: look at slot, riser and firmware settings");
  // At rest only the lanes tell.
  EXPECT_EQ(LinkProblem(Link(1, 4, false)),
            "the link runs below its best: gen 1 x4 at rest of gen 4 x16 (4 of 16 lanes), at most "
            "25 % of what it could carry: look at slot, riser and firmware settings");
}

}  // namespace
}  // namespace horizon
