#pragma once

#include <string>
#include <vector>

#include "report/terminal/styled_line.h"

namespace horizon {

// Pictures made of letters. All take a width in columns (at least 1) and give texts of exactly that
// many letters.

// A bar filled from the left to `share` (0 to 1; more is full), with a mark where `mark` (0 to 1,
// below 0: none) stands.
std::string BarText(double share, double mark, int width, const FrameStyle& style);

// One letter a share (0 to 1), the higher the fuller; a share above 0 is never blank.
std::string StripText(const std::vector<double>& shares, const FrameStyle& style);

// A curve as `height` texts, the top one first: the mean of the values that fall on each column,
// between `low` and `high` (the lowest is still a mark at the bottom). Fewer values than columns
// are spread over them. Values that are not finite leave their column blank, no values all of them.
std::vector<std::string> CurveText(const std::vector<double>& values, double low, double high,
                                   int width, int height, const FrameStyle& style);

}  // namespace horizon
