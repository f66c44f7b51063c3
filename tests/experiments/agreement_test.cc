#include "experiments/agreement.h"

#include <gtest/gtest.h>

#include <cmath>

namespace horizon {
namespace {

TEST(Agreement, HoldsToTenPercentAndIsCloseToTwenty) {
  EXPECT_EQ(AgreementOf(0), Agreement::kHolds);
  EXPECT_EQ(AgreementOf(-0.1), Agreement::kHolds);
  EXPECT_EQ(AgreementOf(110.0 / 100 - 1), Agreement::kHolds) << "a rounding above 10 %";
  EXPECT_EQ(AgreementOf(0.101), Agreement::kClose);
  EXPECT_EQ(AgreementOf(-0.2), Agreement::kClose);
  EXPECT_EQ(AgreementOf(0.201), Agreement::kMisses);
}

TEST(Agreement, NinetyPercentOffIsAMissOnEitherSide) {
  EXPECT_EQ(AgreementOf(-0.9), Agreement::kMisses);
  EXPECT_EQ(AgreementOf(0.9), Agreement::kMisses);
  EXPECT_EQ(VerdictText(AgreementOf(-0.9), "90.0 %"), "misses by 90.0 %");
}

TEST(Agreement, WhatIsNoNumberMisses) {
  EXPECT_EQ(AgreementOf(std::nan("")), Agreement::kMisses);
  EXPECT_EQ(AgreementOf(INFINITY), Agreement::kMisses);
  EXPECT_EQ(AgreementOfChange(std::nan(""), -0.1), Agreement::kMisses);
  EXPECT_EQ(AgreementOfChange(-0.1, std::nan("")), Agreement::kMisses);
}

// 20.1 % published, 10.3 % simulated: ten points sound little, but half of the effect is missing.
TEST(Agreement, AChangeIsJudgedByTheShareOfItThatIsMissed) {
  EXPECT_EQ(AgreementOfChange(-0.201, -0.103), Agreement::kMisses);
  EXPECT_EQ(AgreementOfChange(-0.033, -0.008), Agreement::kMisses);
  EXPECT_EQ(AgreementOfChange(-0.097, -0.081), Agreement::kClose);
  EXPECT_EQ(AgreementOfChange(-0.313, -0.318), Agreement::kHolds);
  EXPECT_EQ(AgreementOfChange(-0.313, 0.313), Agreement::kMisses) << "the other way";
}

TEST(Agreement, ChangesWithinOnePointHoldHoweverSmallTheyAre) {
  EXPECT_EQ(AgreementOfChange(-0.01, -0.001), Agreement::kHolds);
  EXPECT_EQ(AgreementOfChange(0, 0.01), Agreement::kHolds);
  EXPECT_EQ(AgreementOfChange(0, 0.02), Agreement::kMisses);
}

TEST(Agreement, TheWordsSayHowFarOff) {
  EXPECT_EQ(VerdictText(Agreement::kHolds, "3.0 %"), "holds");
  EXPECT_EQ(VerdictText(Agreement::kClose, "12.0 %"), "close, off by 12.0 %");
  EXPECT_EQ(VerdictText(Agreement::kClose, ""), "close");
  EXPECT_EQ(VerdictText(Agreement::kMisses, ""), "misses");
}

}  // namespace
}  // namespace horizon
