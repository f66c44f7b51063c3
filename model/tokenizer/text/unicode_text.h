#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace horizon {

// Functions on UTF-8 text and Unicode character properties. The properties come from ICU, which
// only unicode_text.cc, normalizer.cc and model/chat/jinja/python/python_characters.cc include.

constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

bool IsAscii(std::string_view text);

// How many bytes at the start of `text` one U+FFFD replaces. `text` is not empty and not UTF-8 at
// its start. It is the longest beginning of a character, and at least one byte (Unicode 15, section
// 3.9, "substitution of maximal subparts"; Python and Rust do the same).
size_t MaximalSubpart(std::string_view text);

// Returns `text` itself if it is UTF-8; otherwise a copy in `storage` with U+FFFD for every invalid
// part. The result is valid as long as both arguments.
std::string_view WithValidUtf8(std::string_view text, std::string& storage);

// Returns the character that begins at `at` and moves `at` after it. `text` must be UTF-8 there.
char32_t NextCharacter(std::string_view text, size_t& at);
void AppendCharacter(char32_t character, std::string& text);
// Where the character that ends at `end` begins; 0 at the start.
size_t LastCharacterBegin(std::string_view text, size_t end);

// Calls visit for each grapheme cluster of `text` (UAX 29, extended), in order; together they are
// the text. Returns ResourceExhausted if ICU fails.
absl::Status VisitGraphemes(std::string_view text, absl::FunctionRef<void(std::string_view)> visit);

// The Unicode property White_Space.
bool IsWhiteSpace(char32_t character);
// Letters, marks, decimal digits, connectors and joiners: \w as Unicode recommends it (UTS 18).
bool IsWordCharacter(char32_t character);
// General categories N, P (or ASCII punctuation and symbols), and M.
bool IsNumber(char32_t character);
bool IsPunctuation(char32_t character);
bool IsMark(char32_t character);
// Appends the lower case of a character, without regard to its neighbours.
void AppendLowerCase(char32_t character, std::string& text);

}  // namespace horizon
