#include "common/statistics.h"

#include <algorithm>

namespace horizon {

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double MeanWithoutOutliers(const std::vector<double>& values) {
  const double most = kOutlier * Median(values);
  double sum = 0;
  int64_t count = 0;
  for (const double value : values) {
    if (value > most) continue;
    sum += value;
    ++count;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

double Share(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace horizon
