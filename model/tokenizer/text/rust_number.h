#pragma once

#include <optional>
#include <string_view>

namespace horizon {

// Parses a JSON number with the rounding of serde_json, which the Hugging Face library uses: the
// digits as an integer, multiplied or divided by a power of ten. The result is the nearest double
// or a neighbour of it. The scores of a Unigram vocabulary are read this way, because the library's
// choice between two ways to split a word can depend on the last bit of their sums. Returns nothing
// if the value does not fit a double.
std::optional<double> ReadLikeSerde(std::string_view literal);

}  // namespace horizon
