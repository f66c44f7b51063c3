#pragma once

#include <string>
#include <string_view>

namespace horizon {

// Estimates the width of `text` in a system font, in the unit of `font_size`. The estimate is
// rather too wide than too narrow, so that a layout made with it does not overlap. Pure: it uses no
// font.
double TextWidth(std::string_view text, double font_size);

// `text` if it is at most `width` wide, else its longest prefix that fits together with a final
// "…".
std::string Shortened(std::string_view text, double font_size, double width);

}  // namespace horizon
