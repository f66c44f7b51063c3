#pragma once

#include <optional>
#include <span>
#include <utility>

namespace horizon {

// A straight line fitted to points (least squares in y).
struct LineFit {
  double slope = 0;
  double intercept = 0;
  double r_squared = 0;  // the share of the variance that the line explains; 1 if all y are equal
};

// Fits a line to points (x, y). Empty for fewer than two different x.
std::optional<LineFit> FitLine(std::span<const std::pair<double, double>> points);

}  // namespace horizon
