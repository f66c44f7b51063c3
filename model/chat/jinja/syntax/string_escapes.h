#pragma once

#include <string>
#include <string_view>

namespace horizon {

// Appends what the inside of a string literal stands for: "a\n" is an a and a newline, as in
// Python. Returns why that is impossible, or nothing. `written` is UTF-8.
std::string ReadEscapes(std::string_view written, std::string& text);

}  // namespace horizon
