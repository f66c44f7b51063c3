#pragma once

#include <cstddef>
#include <string_view>

namespace horizon {

// How many bytes of `text` make a piece of at most `most` bytes (>= 4), so that the pieces,
// tokenised one by one, give the tokens of the whole text. A shorter text is one piece. Otherwise
// the piece ends after a line break with text on both sides (none of our tokenizers makes one token
// across it), else after another line break before text, else before a space, else at the end of a
// character. Never 0 for a text that is not empty.
size_t PieceLength(std::string_view text, size_t most);

}  // namespace horizon
