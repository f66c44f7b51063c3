#pragma once

#include <string>
#include <string_view>

namespace horizon {

// A difference with its sign and one decimal: 0.0312 is "+3.1 %" and "+3.1 points". What rounds to
// nothing is "0.0 %", without a sign.
std::string SignedPercent(double share);
std::string SignedPoints(double share);

}  // namespace horizon
