#pragma once

#include <string_view>

namespace horizon {

// How wide text is on a terminal: most characters take one column, East Asian wide ones and most
// emoji take two, and combining marks none. Bytes that are not UTF-8 count as one column each. The
// text has no control characters (see Printable).
int ColumnsOf(std::string_view text);

// The longest beginning of `text` that fits into so many columns. It is never cut inside a
// character, nor between a letter and its combining marks.
std::string_view FirstColumns(std::string_view text, int columns);

}  // namespace horizon
