#pragma once

#include <optional>
#include <span>
#include <utility>

namespace horizon {

// The straight line nearest to points (least squares in y), and the share of their variance it
// explains.
struct LineFit {
  double slope = 0;
  double intercept = 0;
  double r_squared = 0;  // 1 where all y are equal
};

// Nothing for fewer than two different x.
std::optional<LineFit> FitLine(std::span<const std::pair<double, double>> points);

}  // namespace horizon
