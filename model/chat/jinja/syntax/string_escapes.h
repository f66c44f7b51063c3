#pragma once

#include <string>
#include <string_view>

namespace horizon {

// Appends to `text` the value of a string literal, given without its quotes (UTF-8): the letters
// a\n become an a and a newline, as in Python. Returns the reason if an escape is invalid,
// otherwise an empty string.
std::string ReadEscapes(std::string_view written, std::string& text);

}  // namespace horizon
