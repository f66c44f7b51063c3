#pragma once

#include <string>
#include <string_view>

namespace horizon {

// Makes text of any origin safe to show on a terminal. A terminal obeys control characters, so a
// folder named "\x1b[2J" would clear the screen. Control characters other than newline and tab
// become escapes such as "\x1b" or "\u009b", and bytes that are not UTF-8 become "\xff". The result
// is for reading and does not convert back to the same bytes; only JSON from JsonWriter remains the
// same JSON.
std::string Printable(std::string_view text);

}  // namespace horizon
