#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace horizon {

// A tokenizer.json's regular expressions are Oniguruma's (its own syntax, UTF-8); this is the
// PCRE2 expression that matches the same:
//   \s \S   White_Space; PCRE2 adds U+180E
//   \w \W \b \B   letters, marks, digits and connectors; PCRE2 has neither marks nor connectors
//   \h      a hexadecimal digit; in PCRE2 a space
//   \p{Han}   the script; PCRE2 means the script extensions
//   \uHHHH  a character
// InvalidArgument, naming it, for what the two read differently and nobody writes: x{1,3}+ (which
// repeats), set operations and brackets inside classes, options other than i and x, \W, \H inside
// classes. ^ and $ match at every line, which the compile options say (regular_expression.cc).
// Checked against the library for every character of Unicode 14, which is what PCRE2 10.42 knows;
// the library's later characters are unassigned here.
absl::StatusOr<std::string> TranslateExpression(std::string_view expression);

}  // namespace horizon
