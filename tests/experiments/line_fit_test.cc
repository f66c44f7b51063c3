#include "experiments/line_fit.h"

#include <gtest/gtest.h>

#include <vector>

namespace horizon {
namespace {

using Points = std::vector<std::pair<double, double>>;

TEST(LineFit, FindsALineExactly) {
  const std::optional<LineFit> fit = FitLine(Points{{1, 5}, {2, 7}, {4, 11}});
  ASSERT_TRUE(fit.has_value());
  EXPECT_NEAR(fit->slope, 2, 1e-12);
  EXPECT_NEAR(fit->intercept, 3, 1e-12);
  EXPECT_NEAR(fit->r_squared, 1, 1e-12);
}

// Of 0, 1, 0 at 0, 1, 2 the best line is flat at 1/3 and explains nothing; of 0, 3, 3 at the same
// places it rises by 1.5 and explains 4.5 of 6: 3/4.
TEST(LineFit, SaysHowMuchOfTheVarianceItExplains) {
  EXPECT_NEAR(FitLine(Points{{0, 0}, {1, 1}, {2, 0}})->r_squared, 0, 1e-12);
  EXPECT_NEAR(FitLine(Points{{0, 0}, {1, 3}, {2, 3}})->slope, 1.5, 1e-12);
  EXPECT_NEAR(FitLine(Points{{0, 0}, {1, 3}, {2, 3}})->r_squared, 0.75, 1e-12);
}

TEST(LineFit, NeedsTwoPlaces) {
  EXPECT_FALSE(FitLine(Points{}).has_value());
  EXPECT_FALSE(FitLine(Points{{1, 2}}).has_value());
  EXPECT_FALSE(FitLine(Points{{1, 2}, {1, 3}}).has_value());
  EXPECT_EQ(FitLine(Points{{1, 2}, {3, 2}})->r_squared, 1);
}

}  // namespace
}  // namespace horizon
