#pragma once

#include <string>
#include <string_view>

namespace horizon {

// Foreign text made safe to put into a message: in double quotes, control and non-ASCII bytes that
// are not UTF-8 escaped, at most about 60 bytes of it ("..." stands for the rest).
std::string Quoted(std::string_view text);

}  // namespace horizon
