#pragma once

#include <string>

namespace horizon {

// Fractions as text in percent, with a space before the percent sign.

// Percent(0.125, 1) is "12.5 %".
std::string Percent(double share, int decimals = 0);
// A relative change with its sign: "+3.1 %", "-20.0 %". No change is "+0.0 %".
std::string PercentChange(double change, int decimals = 1);
// A relative change with its sign and about three digits: "+3.12 %", "-20 %", "+1,250 %".
std::string ShortPercentChange(double change);

// A difference with its sign and one decimal: 0.0312 is "+3.1 %" or "+3.1 points". A difference
// that rounds to zero is "0.0 %" or "0.0 points", without a sign.
std::string SignedPercent(double share);
std::string SignedPoints(double share);

}  // namespace horizon
