#pragma once

#include <cstdint>
#include <vector>

namespace horizon {

// The median: the middle value, or the mean of the middle two. 0 if there are no values.
double Median(std::vector<double> values);

// part / whole as a real number; 0 if `whole` is 0.
double Share(int64_t part, int64_t whole);

}  // namespace horizon
