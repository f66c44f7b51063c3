#pragma once

#include <cstddef>
#include <string_view>

namespace horizon {

// The length in bytes (1 to 4) of the UTF-8 sequence at the start of `text`, or 0 if no valid
// sequence starts there. Overlong forms, surrogates and code points above U+10FFFF are not valid
// (Unicode 15, table 3-7).
size_t Utf8Length(std::string_view text);

}  // namespace horizon
