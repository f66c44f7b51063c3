#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace horizon {

// What an answer to a word problem states as its result: the N of "The answer is N.", which must be
// the end of the text; white space around the text does not count. Only the last sentence decides,
// whatever the sums before it say. None for a text that ends otherwise, for a number with a sign, a
// fraction or leading zeros, and for one of more than 18 digits: no such answer is right.
std::optional<int64_t> StatedResult(std::string_view answer);

}  // namespace horizon
