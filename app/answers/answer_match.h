#pragma once

#include <optional>
#include <string_view>

namespace horizon {

// Compares a model's answer with the right one.

// Whether both texts are equal. White space at both ends does not count, nor does the reasoning
// (<think> ... </think>) that either text may begin with.
bool SameText(std::string_view answer, std::string_view expected);

// The last number in a text: "#### 1,234.50" gives 1234.5. Mathematical answers are compared by it,
// as is usual with GSM8K. A number is a row of digits, with or without commas between groups of
// three, a fraction, and a minus sign in front. A minus right behind a digit or letter is no sign.
std::optional<double> LastNumber(std::string_view text);

}  // namespace horizon
