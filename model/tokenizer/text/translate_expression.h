#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace horizon {

// Translates a regular expression of a tokenizer.json, which is in Oniguruma's syntax (UTF-8), to a
// PCRE2 expression that matches the same. These differ:
//
//   \s \S         White_Space; PCRE2 adds U+180E
//   \w \W \b \B   letters, marks, digits and connectors; PCRE2 lacks marks and connectors
//   \h            a hexadecimal digit; in PCRE2 a space
//   \p{Han}       the script; PCRE2 means the script extensions
//   \uHHHH        a character
//
// Returns InvalidArgument, naming it, for syntax that the two read differently and nobody writes:
// x{1,3}+ (which repeats), set operations and brackets inside classes, options other than i and x,
// \W and \H inside classes. ^ and $ match at every line; the compile options ensure that
// (regular_expression.cc). The translation was checked against the library for every character of
// Unicode 14, which is what PCRE2 10.42 knows; characters of later versions are unassigned here.
absl::StatusOr<std::string> TranslateExpression(std::string_view expression);

}  // namespace horizon
