#pragma once

#include <string>
#include <string_view>

namespace horizon {

// `text` as it may be shown on a terminal, whoever wrote it: a terminal obeys what it is sent, so a
// folder named "\x1b[2J" would clear the screen. Control characters other than newline and tab
// become "\x1b" or "\u009b", bytes that are not UTF-8 "\xff". What is left is text to be read; it
// does not read back to the same bytes, except JSON of ours (JsonWriter), which stays the same
// JSON.
std::string Printable(std::string_view text);

}  // namespace horizon
