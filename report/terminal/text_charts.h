#pragma once

#include <string>
#include <vector>

#include "report/terminal/styled_line.h"

namespace horizon {

// Charts made of characters, for a terminal. `width` is in columns, at least 1; every text has
// exactly that many characters.

// A bar filled from the left to `share` (0 to 1; more is full), with a mark at `mark` (0 to 1;
// below 0: none).
std::string BarText(double share, double mark, int width, const FrameStyle& style);

// One character for each share (0 to 1), fuller for a larger share. A share above 0 is never blank.
std::string StripText(const std::vector<double>& shares, const FrameStyle& style);

// A curve as `height` texts, the top one first. Each column shows the mean of its values, from
// `low` at the bottom (which still has a mark) to `high` at the top. Fewer values than columns are
// spread over the columns. Values that are not finite leave their column blank; without values all
// columns are blank.
std::vector<std::string> CurveText(const std::vector<double>& values, double low, double high,
                                   int width, int height, const FrameStyle& style);

}  // namespace horizon
