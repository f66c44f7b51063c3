#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/chat/jinja/traced_text.h"

namespace horizon {

// Text as Python sees it: a sequence of code points. Every text here is UTF-8.

size_t CountCharacters(std::string_view text);
// The byte offset of each character, and the size of the text at the end.
std::vector<size_t> CharacterPlaces(std::string_view text);
// The byte offset of character number `count`, or the size of the text if it has no such character.
size_t PlaceOfCharacter(std::string_view text, size_t count);

// str.isspace and the other predicates of Python for one character. strip() and split() treat the
// characters of isspace as white space.
bool IsPythonSpace(char32_t character);
bool IsPythonPrintable(char32_t character);
bool IsPythonAlpha(char32_t character);
bool IsPythonDecimal(char32_t character);
bool IsPythonDigit(char32_t character);
bool IsPythonNumeric(char32_t character);
bool IsPythonUpper(char32_t character);
bool IsPythonLower(char32_t character);
bool IsPythonTitle(char32_t character);
bool IsPythonCased(char32_t character);
bool IsIdentifierStart(char32_t character);
bool IsIdentifierPart(char32_t character);

// The byte offsets at which `text` begins and ends once white space is stripped, or the characters
// in `stripped` if it is not null.
size_t SkipLeft(std::string_view text, const std::string_view* stripped);
size_t SkipRight(std::string_view text, const std::string_view* stripped);

// Computes str.upper() and so on. Every character keeps its origin.
enum class LetterCase : uint8_t { kUpper, kLower, kTitle, kCapitalize, kSwap, kFold };
TracedText ChangeCase(const TracedText& text, LetterCase letters);

}  // namespace horizon
