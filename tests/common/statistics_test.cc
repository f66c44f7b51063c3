#include "common/statistics.h"

#include <gtest/gtest.h>

namespace horizon {
namespace {

TEST(Median, IsTheMiddleValueInAnyOrder) {
  EXPECT_EQ(Median({5}), 5);
  EXPECT_EQ(Median({9, 1, 4}), 4);
}

TEST(Median, OfAnEvenNumberIsTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(Median({8, 1}), 4.5);
  EXPECT_EQ(Median({100, 2, 1, 4}), 3);
}

TEST(Median, OfNoValuesIsZero) { EXPECT_EQ(Median({}), 0); }

TEST(MeanWithoutOutliers, LeavesOutWhatIsThreeTimesTheMedian) {
  EXPECT_EQ(MeanWithoutOutliers({1, 2, 6}), 3);
  EXPECT_EQ(MeanWithoutOutliers({1, 2, 6.5}), 1.5);
  EXPECT_EQ(MeanWithoutOutliers({4}), 4);
  EXPECT_EQ(MeanWithoutOutliers({}), 0);
  EXPECT_EQ(MeanWithoutOutliers({0, 0}), 0);
}

TEST(Share, IsTheQuotientAndZeroOfNothing) {
  EXPECT_EQ(Share(1, 4), 0.25);
  EXPECT_EQ(Share(0, 4), 0);
  EXPECT_EQ(Share(0, 0), 0);
}

}  // namespace
}  // namespace horizon
