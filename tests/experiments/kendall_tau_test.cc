#include "experiments/measured/kendall_tau.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace horizon {
namespace {

double Tau(const std::vector<double>& first, const std::vector<double>& second) {
  return CountPairs(first, second).TauB();
}

TEST(KendallTau, SameAndOppositeOrdersAreTheEnds) {
  EXPECT_EQ(Tau({1, 2, 3, 4}, {10, 20, 30, 40}), 1);
  EXPECT_EQ(Tau({1, 2, 3, 4}, {40, 30, 20, 10}), -1);
  EXPECT_EQ(Tau({3, 1, 2}, {30, 10, 20}), 1);  // the order of the things does not matter
}

// Of the six pairs of four things only (2, 3) stands the other way round: (5 - 1) / 6.
TEST(KendallTau, OneSwapOfFour) {
  const PairCounts counts =
      CountPairs(std::vector<double>{1, 2, 3, 4}, std::vector<double>{1, 3, 2, 4});
  EXPECT_EQ(counts.concordant, 5);
  EXPECT_EQ(counts.discordant, 1);
  EXPECT_DOUBLE_EQ(counts.TauB(), 4.0 / 6.0);
}

// x = 1 1 2 3, y = 1 2 3 3. Pairs: (1,2) tied in x; (3,4) tied in y; (1,3) (1,4) (2,3) (2,4) the
// same way. 4 / sqrt(5 * 5).
TEST(KendallTau, TiesShortenBothSides) {
  const PairCounts counts =
      CountPairs(std::vector<double>{1, 1, 2, 3}, std::vector<double>{1, 2, 3, 3});
  EXPECT_EQ(counts.tied_first, 1);
  EXPECT_EQ(counts.tied_second, 1);
  EXPECT_EQ(counts.tied_both, 0);
  EXPECT_DOUBLE_EQ(counts.TauB(), 0.8);
}

// x = 1 1 1 2, y = 2 2 1 3: (1,2) tied in both, (1,3) and (2,3) in x only, three with the last
// concordant. 3 / sqrt((3 + 0) (3 + 2)).
TEST(KendallTau, TiesOfOneSideOnlyCountOnThatSide) {
  const PairCounts counts =
      CountPairs(std::vector<double>{1, 1, 1, 2}, std::vector<double>{2, 2, 1, 3});
  EXPECT_EQ(counts.tied_both, 1);
  EXPECT_EQ(counts.tied_first, 2);
  EXPECT_EQ(counts.tied_second, 0);
  EXPECT_DOUBLE_EQ(counts.TauB(), 3 / std::sqrt(15.0));
}

TEST(KendallTau, WithoutAnyOrderThereIsNoAgreement) {
  EXPECT_EQ(Tau({}, {}), 0);
  EXPECT_EQ(Tau({1}, {2}), 0);
  EXPECT_EQ(Tau({1, 1, 1}, {1, 2, 3}), 0);
}

TEST(KendallTau, CountsAddUp) {
  PairCounts counts = CountPairs(std::vector<double>{1, 2}, std::vector<double>{1, 2});
  counts += CountPairs(std::vector<double>{1, 2}, std::vector<double>{2, 1});
  counts += CountPairs(std::vector<double>{1, 2, 3}, std::vector<double>{1, 2, 3});
  EXPECT_EQ(counts.concordant, 4);
  EXPECT_EQ(counts.discordant, 1);
  EXPECT_DOUBLE_EQ(counts.TauB(), 3.0 / 5.0);
}

}  // namespace
}  // namespace horizon
