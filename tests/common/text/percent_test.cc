#include "common/text/percent.h"

#include <gtest/gtest.h>

namespace horizon {
namespace {

TEST(Percent, HasTheDecimalsAskedFor) {
  EXPECT_EQ(Percent(0.126), "13 %");
  EXPECT_EQ(Percent(0.126, 1), "12.6 %");
  EXPECT_EQ(Percent(0), "0 %");
  EXPECT_EQ(Percent(12.5, 2), "1250.00 %");
}

TEST(Percent, OfAChangeHasItsSign) {
  EXPECT_EQ(PercentChange(0.0312), "+3.1 %");
  EXPECT_EQ(PercentChange(-0.2), "-20.0 %");
  EXPECT_EQ(PercentChange(0), "+0.0 %");
  EXPECT_EQ(PercentChange(-0.198, 0), "-20 %");
}

TEST(Percent, OfAChangeInShortHasThreeDigits) {
  EXPECT_EQ(ShortPercentChange(0.03123), "+3.12 %");
  EXPECT_EQ(ShortPercentChange(-0.2), "-20 %");
  EXPECT_EQ(ShortPercentChange(0), "+0 %");
  EXPECT_EQ(ShortPercentChange(12.5), "+1,250 %");
}

TEST(Percent, OfADifferenceHasASignUnlessItRoundsToNothing) {
  EXPECT_EQ(SignedPercent(0.0312), "+3.1 %");
  EXPECT_EQ(SignedPercent(-1.5), "-150.0 %");
  EXPECT_EQ(SignedPercent(0), "0.0 %");
  EXPECT_EQ(SignedPercent(-0.0004), "0.0 %");
  EXPECT_EQ(SignedPercent(0.0006), "+0.1 %");
  EXPECT_EQ(SignedPoints(-0.101), "-10.1 points");
}

}  // namespace
}  // namespace horizon
