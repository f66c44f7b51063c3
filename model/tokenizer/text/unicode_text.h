#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace horizon {

// UTF-8 text as tokenizers need it, and the properties of characters, from ICU, which only
// unicode_text.cc, normalizer.cc and model/chat/jinja/python/python_characters.cc include.

constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

bool IsAscii(std::string_view text);

// How many bytes at the start of `text` (not empty, not UTF-8 there) one U+FFFD stands for: the
// longest beginning of a character, at least one byte (Unicode 15, section 3.9, "substitution of
// maximal subparts"; what Python and Rust do).
size_t MaximalSubpart(std::string_view text);

// `text` itself where it is UTF-8; otherwise a copy in `storage` with U+FFFD in place of what is
// not. The result lives as long as both.
std::string_view WithValidUtf8(std::string_view text, std::string& storage);

// The character that begins at `at`, which is moved behind it. `text` is UTF-8 there.
char32_t NextCharacter(std::string_view text, size_t& at);
void AppendCharacter(char32_t character, std::string& text);
// Where the character that ends at `end` begins; 0 at the start.
size_t LastCharacterBegin(std::string_view text, size_t end);

// Calls visit for each grapheme cluster of `text` (UAX 29, extended), in order; they are the text.
// ResourceExhausted when ICU cannot.
absl::Status VisitGraphemes(std::string_view text, absl::FunctionRef<void(std::string_view)> visit);

// White_Space of Unicode.
bool IsWhiteSpace(char32_t character);
// Letters, marks, decimal digits, connectors and joiners: \w of Unicode's recommendation (UTS 18).
bool IsWordCharacter(char32_t character);
// General categories N, P (or ASCII punctuation and symbols), M.
bool IsNumber(char32_t character);
bool IsPunctuation(char32_t character);
bool IsMark(char32_t character);
// Appends the lower case of a character without regard to its neighbours.
void AppendLowerCase(char32_t character, std::string& text);

}  // namespace horizon
