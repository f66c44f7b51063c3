#include "simulator/curve.h"

#include <algorithm>
#include <cmath>

#include "common/check.h"

namespace horizon {
namespace {

constexpr EnumWord<OriginKind> kOriginWords[] = {{OriginKind::kMeasured, "measured"},
                                                 {OriginKind::kVendor, "vendor"},
                                                 {OriginKind::kFitted, "fitted"},
                                                 {OriginKind::kAssumed, "assumed"}};

}  // namespace

std::span<const EnumWord<OriginKind>> WordsOf(OriginKind) { return kOriginWords; }

double Curve::At(double x) const {
  CHECK(!points.empty() && x > 0);
  const auto after = std::upper_bound(points.begin(), points.end(), x,
                                      [](double value, const Point& p) { return value < p.x; });
  if (after == points.begin()) return after->y;
  const Point& low = *(after - 1);
  if (after == points.end() || x == low.x) return low.y;
  const double share = std::log(x / low.x) / std::log(after->x / low.x);
  return low.y + share * (after->y - low.y);
}

double Curve::Highest() const {
  double highest = 0;
  for (const Point& point : points) highest = std::max(highest, point.y);
  return highest;
}

Curve Scaled(Curve curve, double factor) {
  for (Curve::Point& point : curve.points) point.y *= factor;
  return curve;
}

}  // namespace horizon
