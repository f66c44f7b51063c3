#pragma once

#include <cstddef>
#include <string_view>

namespace horizon {

// How many bytes the UTF-8 sequence at the start of `text` has (1 to 4), or 0 if none starts there:
// overlong forms, surrogates and what lies above U+10FFFF are not UTF-8 (Unicode 15, table 3-7).
size_t Utf8Length(std::string_view text);

}  // namespace horizon
