#include "model/chat/jinja/python/python_characters.h"

#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include "model/tokenizer/text/unicode_text.h"

namespace horizon {
namespace {

bool HasCategory(char32_t character, uint32_t mask) {
  return (U_GET_GC_MASK(static_cast<UChar32>(character)) & mask) != 0;
}

bool HasProperty(char32_t character, UProperty property) {
  return u_hasBinaryProperty(static_cast<UChar32>(character), property) != 0;
}

bool Contains(std::string_view characters, char32_t wanted) {
  for (size_t at = 0; at < characters.size();) {
    if (NextCharacter(characters, at) == wanted) return true;
  }
  return false;
}

bool IsSkipped(char32_t character, const std::string_view* stripped) {
  return stripped == nullptr ? IsPythonSpace(character) : Contains(*stripped, character);
}

constexpr char32_t kSigma = 0x3A3;

// Whether a sigma at [begin, end) ends a word (Unicode 15, table 3-17, Final_Sigma).
bool IsFinalSigma(std::string_view text, size_t begin, size_t end) {
  bool cased_before = false;
  for (size_t at = begin; at > 0 && !cased_before;) {
    at = LastCharacterBegin(text, at);
    size_t next = at;
    const char32_t character = NextCharacter(text, next);
    if (HasProperty(character, UCHAR_CASE_IGNORABLE)) continue;
    if (!IsPythonCased(character)) break;
    cased_before = true;
  }
  if (!cased_before) return false;
  for (size_t at = end; at < text.size();) {
    const char32_t character = NextCharacter(text, at);
    if (HasProperty(character, UCHAR_CASE_IGNORABLE)) continue;
    return !IsPythonCased(character);
  }
  return true;
}

// The full mapping of one character without regard to language or neighbours.
std::string Map(char32_t character, LetterCase letters) {
  if (character < 0x80) {
    const char byte = static_cast<char>(character);
    const bool upper = letters == LetterCase::kUpper || letters == LetterCase::kTitle;
    if (upper && byte >= 'a' && byte <= 'z') return std::string(1, static_cast<char>(byte - 32));
    if (!upper && byte >= 'A' && byte <= 'Z') return std::string(1, static_cast<char>(byte + 32));
    return std::string(1, byte);
  }
  icu::UnicodeString mapped(static_cast<UChar32>(character));
  switch (letters) {
    case LetterCase::kUpper:
      mapped.toUpper(icu::Locale::getRoot());
      break;
    case LetterCase::kTitle:
      mapped.toTitle(nullptr, icu::Locale::getRoot(), U_TITLECASE_NO_BREAK_ADJUSTMENT);
      break;
    case LetterCase::kFold:
      mapped.foldCase(U_FOLD_CASE_DEFAULT);
      break;
    default:
      mapped.toLower(icu::Locale::getRoot());
  }
  std::string text;
  mapped.toUTF8String(text);
  return text;
}

}  // namespace

size_t CountCharacters(std::string_view text) {
  size_t count = 0;
  for (const char byte : text) count += (static_cast<unsigned char>(byte) & 0xC0) != 0x80 ? 1 : 0;
  return count;
}

std::vector<size_t> CharacterPlaces(std::string_view text) {
  std::vector<size_t> places;
  places.reserve(text.size() + 1);
  for (size_t at = 0; at < text.size(); ++at) {
    if ((static_cast<unsigned char>(text[at]) & 0xC0) != 0x80) places.push_back(at);
  }
  places.push_back(text.size());
  return places;
}

size_t PlaceOfCharacter(std::string_view text, size_t count) {
  size_t at = 0;
  for (; at < text.size(); ++at) {
    if ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) continue;
    if (count == 0) return at;
    --count;
  }
  return at;
}

bool IsPythonSpace(char32_t character) {
  if (character < 0x80) {
    return (character >= 9 && character <= 13) || (character >= 0x1C && character <= 0x20);
  }
  if (HasCategory(character, U_GC_ZS_MASK)) return true;
  const UCharDirection direction = u_charDirection(static_cast<UChar32>(character));
  return direction == U_WHITE_SPACE_NEUTRAL || direction == U_BLOCK_SEPARATOR ||
         direction == U_SEGMENT_SEPARATOR;
}

bool IsPythonPrintable(char32_t character) {
  if (character < 0x7F) return character >= 0x20;
  return !HasCategory(character, U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CS_MASK | U_GC_CO_MASK |
                                     U_GC_CN_MASK | U_GC_ZL_MASK | U_GC_ZP_MASK | U_GC_ZS_MASK);
}

bool IsPythonAlpha(char32_t character) { return HasCategory(character, U_GC_L_MASK); }

bool IsPythonDecimal(char32_t character) { return HasCategory(character, U_GC_ND_MASK); }

bool IsPythonDigit(char32_t character) {
  const int type = u_getIntPropertyValue(static_cast<UChar32>(character), UCHAR_NUMERIC_TYPE);
  return type == U_NT_DECIMAL || type == U_NT_DIGIT;
}

bool IsPythonNumeric(char32_t character) {
  return u_getIntPropertyValue(static_cast<UChar32>(character), UCHAR_NUMERIC_TYPE) != U_NT_NONE;
}

bool IsPythonUpper(char32_t character) { return HasProperty(character, UCHAR_UPPERCASE); }
bool IsPythonLower(char32_t character) { return HasProperty(character, UCHAR_LOWERCASE); }
bool IsPythonTitle(char32_t character) { return HasCategory(character, U_GC_LT_MASK); }

bool IsPythonCased(char32_t character) {
  return IsPythonUpper(character) || IsPythonLower(character) || IsPythonTitle(character);
}

bool IsIdentifierStart(char32_t character) {
  return character == '_' || HasProperty(character, UCHAR_XID_START);
}

bool IsIdentifierPart(char32_t character) { return HasProperty(character, UCHAR_XID_CONTINUE); }

size_t SkipLeft(std::string_view text, const std::string_view* stripped) {
  size_t at = 0;
  while (at < text.size()) {
    size_t next = at;
    if (!IsSkipped(NextCharacter(text, next), stripped)) break;
    at = next;
  }
  return at;
}

size_t SkipRight(std::string_view text, const std::string_view* stripped) {
  size_t end = text.size();
  while (end > 0) {
    const size_t begin = LastCharacterBegin(text, end);
    size_t next = begin;
    if (!IsSkipped(NextCharacter(text, next), stripped)) break;
    end = begin;
  }
  return end;
}

TracedText ChangeCase(const TracedText& text, LetterCase letters) {
  const std::string& from = text.text();
  TracedText changed;
  bool begins = true;  // of a word for kTitle, of the text for kCapitalize
  size_t at = 0;
  for (const TextRun& run : text.runs()) {
    std::string piece;
    while (at < run.end) {
      const size_t begin = at;
      const char32_t character = NextCharacter(from, at);
      LetterCase how = letters;
      if (letters == LetterCase::kTitle || letters == LetterCase::kCapitalize) {
        how = begins ? LetterCase::kTitle : LetterCase::kLower;
        begins = letters == LetterCase::kTitle && !IsPythonCased(character);
      } else if (letters == LetterCase::kSwap) {
        how = IsPythonUpper(character)   ? LetterCase::kLower
              : IsPythonLower(character) ? LetterCase::kUpper
                                         : LetterCase::kSwap;
      }
      if (how == LetterCase::kSwap) {
        piece.append(from, begin, at - begin);
      } else if (how == LetterCase::kLower && character == kSigma) {
        piece += IsFinalSigma(from, begin, at) ? "\u03C2" : "\u03C3";
      } else {
        piece += Map(character, how);
      }
    }
    changed.Append(piece, run.origin);
  }
  return changed;
}

}  // namespace horizon
