#pragma once

#include <optional>
#include <string_view>

namespace horizon {

// The value of a JSON number as serde_json, which Hugging Face's library reads files with, rounds
// it: the digits as an integer, times or divided by a power of ten. That is the nearest double or
// one beside it. Scores are read so: of two ways to cut a word whose sums differ in the last bit
// only, the library's choice depends on it. Nothing where the value is beyond double.
std::optional<double> ReadLikeSerde(std::string_view literal);

}  // namespace horizon
