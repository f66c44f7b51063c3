// Max-min fairness: solved by hand, and its definition on random demands.
#include "simulator/fair_share.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace horizon {
namespace {

std::vector<double> Speeds(const std::vector<ResourceAmounts>& draws,
                           const ResourceAmounts& capacity,
                           const std::vector<double>& ceilings = {},
                           const std::vector<double>& weights = {}) {
  std::vector<Sharer> sharers;
  for (size_t i = 0; i < draws.size(); ++i) {
    sharers.push_back({.draw = &draws[i],
                       .ceiling = ceilings.empty() ? 1 : ceilings[i],
                       .weight = weights.empty() ? 1 : weights[i]});
  }
  std::vector<double> speeds(draws.size(), -1);
  ShareFairly(sharers, capacity, speeds);
  return speeds;
}

TEST(FairShare, NobodyIsFasterThanAlone) {
  EXPECT_EQ(Speeds({{1, 1, 0}, {2, 0, 1}}, {100, 100, 100}), (std::vector<double>{1, 1}));
  EXPECT_EQ(Speeds({{0, 0, 0}}, {1, 1, 1}), (std::vector<double>{1}));
  EXPECT_TRUE(Speeds({}, {1, 1, 1}).empty());
}

TEST(FairShare, ExactlyWhatThereIsSlowsNobody) {
  EXPECT_EQ(Speeds({{0, 4, 0}, {0, 6, 0}}, {1, 10, 1}), (std::vector<double>{1, 1}));
}

TEST(FairShare, AHalfPercentTooMuchCounts) {
  EXPECT_EQ(Speeds({{0, 4, 0}, {0, 6.05, 0}}, {1, 10, 1})[0], 10 / 10.05);
}

// 8 + 12 wanted of 10: both at half speed, whatever each draws.
TEST(FairShare, TwoOnOneResourceSlowDownAlike) {
  EXPECT_EQ(Speeds({{0, 8, 0}, {0, 12, 0}}, {1, 10, 1}), (std::vector<double>{0.5, 0.5}));
}

// DRAM (10): a wants 10, b 10, so both rise to 1/2, where it is full. Link (10): b and c want 10
// each; b stays at 1/2 and takes 5, so c could take 5 more: it goes on to 1/2. With c wanting 4 it
// goes on to 1.
TEST(FairShare, WhoeverIsNotOnTheFullResourceGoesOnRising) {
  EXPECT_EQ(Speeds({{0, 10, 0}, {0, 10, 10}, {0, 0, 10}}, {1, 10, 10}),
            (std::vector<double>{0.5, 0.5, 0.5}));
  EXPECT_EQ(Speeds({{0, 10, 0}, {0, 10, 10}, {0, 0, 4}}, {1, 10, 10}),
            (std::vector<double>{0.5, 0.5, 1}));
}

// Cores (6): a and b want 4 + 8 = 12: full at 1/2. DRAM (10): b has 1/2 of 4 = 2, so 8 are left
// for c, which wants 10: 0.8.
TEST(FairShare, FillsOneResourceAfterTheOther) {
  EXPECT_EQ(Speeds({{4, 0, 0}, {8, 4, 0}, {0, 10, 0}}, {6, 10, 1}),
            (std::vector<double>{0.5, 0.5, 0.8}));
}

// Three rounds, one a resource: cores at 1/4 (a, b), DRAM at 1/2 (c), link at 3/4 (d); e draws
// nothing.
TEST(FairShare, EveryResourceCanBeFull) {
  const std::vector<double> speeds =
      Speeds({{8, 0, 0}, {8, 8, 0}, {0, 8, 8}, {0, 0, 8}, {0, 0, 0}}, {4, 6, 10});
  EXPECT_EQ(speeds, (std::vector<double>{0.25, 0.25, 0.5, 0.75, 1}));
}

// Nothing is scarce: everybody is as fast as its ceiling allows.
TEST(FairShare, NobodyRisesAboveItsCeiling) {
  EXPECT_EQ(Speeds({{1, 1, 0}, {1, 0, 1}}, {100, 100, 100}, {0.25, 1}),
            (std::vector<double>{0.25, 1}));
}

// DRAM (10): both want 10. The first stays at 1/4 and takes 2.5, which leaves 7.5 for the other.
TEST(FairShare, WhatACeilingLeavesGoesToTheOthers) {
  EXPECT_EQ(Speeds({{0, 10, 0}, {0, 10, 0}}, {1, 10, 1}, {0.25, 1}),
            (std::vector<double>{0.25, 0.75}));
}

// Both ceilings lie above what the DRAM gives: they change nothing.
TEST(FairShare, ACeilingAboveOnesShareChangesNothing) {
  EXPECT_EQ(Speeds({{0, 10, 0}, {0, 10, 0}}, {1, 10, 1}, {0.75, 0.5}),
            (std::vector<double>{0.5, 0.5}));
}

// Two cores: one wants both, the other one of them. At level 1 they take 2 x 1/2 + 1: all there is.
TEST(FairShare, SpeedsRiseInProportionToTheirWeights) {
  EXPECT_EQ(Speeds({{2, 0, 0}, {1, 0, 0}}, {2, 1, 1}, {1, 1}, {0.5, 1}),
            (std::vector<double>{0.5, 1}));
  // A third of weight 1: level 2/3.
  const std::vector<double> three =
      Speeds({{2, 0, 0}, {1, 0, 0}, {1, 0, 0}}, {2, 1, 1}, {1, 1, 1}, {0.5, 1, 1});
  EXPECT_DOUBLE_EQ(three[0], 1.0 / 3);
  EXPECT_DOUBLE_EQ(three[1], 2.0 / 3);
  EXPECT_DOUBLE_EQ(three[2], 2.0 / 3);
}

// The other stays at its ceiling; what it leaves goes to the one of little weight, up to 3/4.
TEST(FairShare, ALowWeightIsNoCeiling) {
  EXPECT_EQ(Speeds({{2, 0, 0}, {1, 0, 0}}, {2, 1, 1}, {1, 0.5}, {0.125, 1}),
            (std::vector<double>{0.75, 0.5}));
  EXPECT_EQ(Speeds({{2, 0, 0}}, {2, 1, 1}, {1}, {0.125}), (std::vector<double>{1}));
}

struct Demands {
  std::vector<ResourceAmounts> draws;
  ResourceAmounts capacity{};
  std::vector<double> ceilings;
  std::vector<double> weights;
  std::vector<double> Speeds() const { return horizon::Speeds(draws, capacity, ceilings, weights); }
};

Demands RandomDemands() {
  Demands demands;
  for (double& amount : demands.capacity) amount = *rc::gen::inRange(1, 1000) / 10.0;
  for (int i = *rc::gen::inRange(1, 8); i > 0; --i) {
    ResourceAmounts draw{};
    for (int r = 0; r < kResourceCount; ++r) {
      const double share = *rc::gen::element(0, 0, *rc::gen::inRange(1, 1001)) / 1000.0;
      draw[r] = share * demands.capacity[r];
    }
    demands.draws.push_back(draw);
    demands.ceilings.push_back(*rc::gen::element(1.0, *rc::gen::inRange(1, 1001) / 1000.0));
    demands.weights.push_back(*rc::gen::element(1.0, *rc::gen::inRange(1, 1001) / 1000.0));
  }
  return demands;
}

double Used(const Demands& demands, const std::vector<double>& speeds, int resource) {
  double used = 0;
  for (size_t i = 0; i < speeds.size(); ++i) used += speeds[i] * demands.draws[i][resource];
  return used;
}

constexpr double kRounding = 1e-9;

RC_GTEST_PROP(FairShare, NoResourceIsOverdrawnAndNobodyStandsStill, ()) {
  const Demands demands = RandomDemands();
  const std::vector<double> speeds = demands.Speeds();
  for (int r = 0; r < kResourceCount; ++r) {
    RC_ASSERT(Used(demands, speeds, r) <= demands.capacity[r] * (1 + kRounding));
  }
  for (size_t i = 0; i < speeds.size(); ++i) {
    RC_ASSERT(speeds[i] > 0 && speeds[i] <= demands.ceilings[i]);
  }
}

// Max-min: whoever is below its ceiling has a full resource on which nobody is faster than it by
// weight, so that it could rise only by making a slower or equal one slower.
RC_GTEST_PROP(FairShare, NobodyCouldRiseWithoutASlowerOneFalling, ()) {
  const Demands demands = RandomDemands();
  const std::vector<double> speeds = demands.Speeds();
  for (size_t i = 0; i < speeds.size(); ++i) {
    if (speeds[i] == demands.ceilings[i]) continue;
    bool held = false;
    for (int r = 0; r < kResourceCount; ++r) {
      const bool full = Used(demands, speeds, r) >= demands.capacity[r] * (1 - kRounding);
      if (demands.draws[i][r] == 0 || !full) continue;
      bool is_fastest = true;
      for (size_t j = 0; j < speeds.size(); ++j) {
        is_fastest &=
            demands.draws[j][r] == 0 ||
            speeds[j] / demands.weights[j] <= speeds[i] / demands.weights[i] * (1 + kRounding);
      }
      held |= is_fastest;
    }
    RC_ASSERT(held);
  }
}

RC_GTEST_PROP(FairShare, UnitsDoNotMatter, ()) {
  const Demands demands = RandomDemands();
  Demands scaled = demands;
  for (int r = 0; r < kResourceCount; ++r) {
    const double factor = *rc::gen::element(0.5, 1024.0, 3.0, 1e-6);
    scaled.capacity[r] *= factor;
    for (ResourceAmounts& draw : scaled.draws) draw[r] *= factor;
  }
  const std::vector<double> one = demands.Speeds();
  const std::vector<double> other = scaled.Speeds();
  for (size_t i = 0; i < one.size(); ++i) RC_ASSERT(std::abs(one[i] - other[i]) <= kRounding);
}

RC_GTEST_PROP(FairShare, OrderDoesNotMatter, ()) {
  const Demands demands = RandomDemands();
  Demands reversed = demands;
  std::reverse(reversed.draws.begin(), reversed.draws.end());
  std::reverse(reversed.ceilings.begin(), reversed.ceilings.end());
  std::reverse(reversed.weights.begin(), reversed.weights.end());
  std::vector<double> other = reversed.Speeds();
  std::reverse(other.begin(), other.end());
  const std::vector<double> one = demands.Speeds();
  for (size_t i = 0; i < one.size(); ++i) RC_ASSERT(std::abs(one[i] - other[i]) <= kRounding);
}

}  // namespace
}  // namespace horizon
