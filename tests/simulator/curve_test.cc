// Rates by size: straight over log x between the points, constant outside them.
#include "simulator/curve.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace horizon {
namespace {

Curve Of(std::vector<Curve::Point> points) { return {.points = std::move(points), .origin = {}}; }

TEST(Curve, IsExactAtItsPoints) {
  const Curve curve = Of({{3, 10}, {7, 40}, {1000, 20}});
  EXPECT_EQ(curve.At(3), 10);
  EXPECT_EQ(curve.At(7), 40);
  EXPECT_EQ(curve.At(1000), 20);
}

TEST(Curve, IsStraightOverTheLogarithm) {
  const Curve curve = Of({{1, 10}, {100, 30}, {10000, 20}});
  EXPECT_DOUBLE_EQ(curve.At(10), 20);             // half way from 1 to 100 over log x
  EXPECT_DOUBLE_EQ(curve.At(1000), 25);           // half way down
  EXPECT_DOUBLE_EQ(curve.At(std::sqrt(10)), 15);  // a quarter
}

TEST(Curve, IsConstantOutsideItsPoints) {
  const Curve curve = Of({{4, 10}, {16, 30}});
  EXPECT_EQ(curve.At(3.999), 10);
  EXPECT_EQ(curve.At(1e-300), 10);
  EXPECT_EQ(curve.At(17), 30);
  EXPECT_EQ(curve.At(1e300), 30);
}

TEST(Curve, OfOnePointIsThatEverywhere) {
  const Curve curve = Of({{5, 3}});
  EXPECT_EQ(curve.At(0.1), 3);
  EXPECT_EQ(curve.At(5), 3);
  EXPECT_EQ(curve.At(1e9), 3);
}

TEST(Curve, HighestNeedNotBeTheLast) {
  EXPECT_EQ(Of({{1, 10}, {2, 50}, {3, 20}}).Highest(), 50);
  EXPECT_EQ(Of({{1, 0.5}}).Highest(), 0.5);
}

TEST(Curve, ScalingChangesRatesAndNotSizes) {
  EXPECT_EQ(Scaled(Of({{1, 10}, {2, 50}}), 3), Of({{1, 30}, {2, 150}}));
}

TEST(Curve, EveryOriginHasItsWord) {
  EXPECT_EQ(ToString(OriginKind::kMeasured), "measured");
  EXPECT_EQ(ToString(OriginKind::kVendor), "vendor");
  EXPECT_EQ(ToString(OriginKind::kFitted), "fitted");
  EXPECT_EQ(ToString(OriginKind::kAssumed), "assumed");
}

// Between two neighbours a value never leaves the range of their rates, and it moves with x.
RC_GTEST_PROP(Curve, StaysBetweenTheNeighbouringPoints, ()) {
  std::vector<Curve::Point> points;
  double x = 1;
  for (int i = *rc::gen::inRange(1, 6); i > 0; --i) {
    x *= 1 + *rc::gen::inRange(1, 1000) / 10.0;
    points.push_back({x, *rc::gen::inRange(1, 1000) / 7.0});
  }
  const Curve curve = Of(points);
  const double at = *rc::gen::inRange(1, 1'000'000) / 100.0;
  size_t after = 0;
  while (after < points.size() && points[after].x <= at) ++after;
  const Curve::Point low = points[after == 0 ? 0 : after - 1];
  const Curve::Point high = points[std::min(after, points.size() - 1)];
  const double slack = 1e-9 * std::max(low.y, high.y);
  RC_ASSERT(curve.At(at) >= std::min(low.y, high.y) - slack);
  RC_ASSERT(curve.At(at) <= std::max(low.y, high.y) + slack);
}

}  // namespace
}  // namespace horizon
