#pragma once

#include <string>
#include <string_view>

namespace horizon {

// Makes text from outside (a file, the command line) safe to put into an error message. The text is
// put in double quotes; control characters, and bytes that are neither ASCII nor UTF-8, are
// escaped. Only about the first 60 bytes are shown, followed by "..." for the rest.
std::string Quoted(std::string_view text);

}  // namespace horizon
