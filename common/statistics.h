#pragma once

#include <cstdint>
#include <vector>

namespace horizon {

// The middle value, or the mean of the middle two; 0 of no values.
double Median(std::vector<double> values);

// part / whole; 0 of an empty whole.
double Share(int64_t part, int64_t whole);

}  // namespace horizon
