#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace horizon {

// The result that an answer to a word problem states: the N of "The answer is N.", which must end
// the text, apart from white space. Only this last sentence counts, not the sums before it. Returns
// nothing for a text that ends otherwise and for a number with a sign, a fraction, leading zeros or
// more than 18 digits: no such answer is right.
std::optional<int64_t> StatedResult(std::string_view answer);

}  // namespace horizon
