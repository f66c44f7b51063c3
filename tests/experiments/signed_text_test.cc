#include "experiments/signed_text.h"

#include <gtest/gtest.h>

namespace horizon {
namespace {

TEST(SignedText, HasASignUnlessItRoundsToNothing) {
  EXPECT_EQ(SignedPercent(0.0312), "+3.1 %");
  EXPECT_EQ(SignedPercent(-1.5), "-150.0 %");
  EXPECT_EQ(SignedPercent(0), "0.0 %");
  EXPECT_EQ(SignedPercent(-0.0004), "0.0 %");
  EXPECT_EQ(SignedPercent(0.0006), "+0.1 %");
  EXPECT_EQ(SignedPoints(-0.101), "-10.1 points");
}

}  // namespace
}  // namespace horizon
