#pragma once

#include <optional>
#include <string_view>

namespace horizon {

// How a model's answer is compared with the right one.

// Equal but for white space at both ends, and for the reasoning (<think> ... </think>) that either
// begins with.
bool SameText(std::string_view answer, std::string_view expected);

// The last number in a text ("#### 1,234.50" gives 1234.5): digits, in groups of three after commas
// or not, with a fraction and a minus sign before it or not, where the minus stands behind no digit
// or letter. Mathematical answers are compared by it, as is done with GSM8K.
std::optional<double> LastNumber(std::string_view text);

}  // namespace horizon
