#pragma once

#include <string>
#include <string_view>

namespace horizon {

// About how wide a system font sets `text`, in units of `font_size`; a little too wide rather than
// too narrow, so that what is laid out with it does not overlap. Pure: no font is asked.
double TextWidth(std::string_view text, double font_size);

// `text` if it is at most `width` wide, else its longest beginning that fits with "…" behind it.
std::string Shortened(std::string_view text, double font_size, double width);

}  // namespace horizon
