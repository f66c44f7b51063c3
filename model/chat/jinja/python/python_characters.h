#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/chat/jinja/traced_text.h"

namespace horizon {

// Text as Python sees it: a row of code points. Every text here is UTF-8.

size_t CountCharacters(std::string_view text);
// Where each character begins, and the end of the text: one more than there are characters.
std::vector<size_t> CharacterPlaces(std::string_view text);
// Where character `count` of `text` begins, or the end of the text if it has no more.
size_t PlaceOfCharacter(std::string_view text, size_t count);

// str.isspace of one character: what strip() and split() take for white space.
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

// Where `text` begins and ends without white space, or without characters of `stripped`.
size_t SkipLeft(std::string_view text, const std::string_view* stripped);
size_t SkipRight(std::string_view text, const std::string_view* stripped);

// Each gives what str.upper() and so on give; every character keeps its origin.
enum class LetterCase : uint8_t { kUpper, kLower, kTitle, kCapitalize, kSwap, kFold };
TracedText ChangeCase(const TracedText& text, LetterCase letters);

}  // namespace horizon
