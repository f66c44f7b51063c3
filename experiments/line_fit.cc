#include "experiments/line_fit.h"

namespace horizon {

std::optional<LineFit> FitLine(std::span<const std::pair<double, double>> points) {
  if (points.empty()) return std::nullopt;
  const auto count = static_cast<double>(points.size());
  double mean_x = 0;
  double mean_y = 0;
  for (const auto& [x, y] : points) {
    mean_x += x / count;
    mean_y += y / count;
  }
  double xx = 0;
  double xy = 0;
  double yy = 0;
  for (const auto& [x, y] : points) {
    xx += (x - mean_x) * (x - mean_x);
    xy += (x - mean_x) * (y - mean_y);
    yy += (y - mean_y) * (y - mean_y);
  }
  if (!(xx > 0)) return std::nullopt;
  const double slope = xy / xx;
  return LineFit{.slope = slope,
                 .intercept = mean_y - slope * mean_x,
                 .r_squared = yy > 0 ? xy * xy / (xx * yy) : 1};
}

}  // namespace horizon
