#pragma once

#include <cstddef>
#include <string_view>

namespace horizon {

// How much of `text` makes a piece of at most `most` bytes (>= 4): all of it if it is no longer;
// else, so that pieces give the tokens of the whole, up to a line break with text on both sides (no
// tokenizer of ours makes one token of both), else up to another break before text, else up to a
// space, else up to the end of a character. Never nothing of a text that is not empty.
size_t PieceLength(std::string_view text, size_t most);

}  // namespace horizon
