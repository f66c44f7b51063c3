#pragma once

#include <cstdint>
#include <vector>

namespace horizon {

// The median: the middle value, or the mean of the middle two. 0 if there are no values.
double Median(std::vector<double> values);

// The mean of the values that are at most kOutlier times their median; 0 if there are no values. Of
// step times it is what a step takes on average, with its share of the short moments in which a
// machine is held up, but without the steps during which it stood still.
double MeanWithoutOutliers(const std::vector<double>& values);
inline constexpr double kOutlier = 3;

// part / whole as a real number; 0 if `whole` is 0.
double Share(int64_t part, int64_t whole);

}  // namespace horizon
