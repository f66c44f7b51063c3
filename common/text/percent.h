#pragma once

#include <string>

namespace horizon {

// Shares as people read them: in percent, with a space before the sign.

// 0.125 is "12.5 %" with one decimal.
std::string Percent(double share, int decimals = 0);
// A change with its sign: "+3.1 %", "-20.0 %"; no change is "+0.0 %".
std::string PercentChange(double change, int decimals = 1);
// A change with its sign and three digits: "+3.12 %", "-20 %", "+1,250 %".
std::string ShortPercentChange(double change);

// A difference with its sign and one decimal: 0.0312 is "+3.1 %" and "+3.1 points". What rounds to
// nothing is "0.0 %", without a sign.
std::string SignedPercent(double share);
std::string SignedPoints(double share);

}  // namespace horizon
