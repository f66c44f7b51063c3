#include "model/tokenizer/text/unicode_text.h"

#include <unicode/brkiter.h>
#include <unicode/uchar.h>
#include <unicode/utext.h>

#include <cstdint>
#include <cstring>
#include <memory>

#include "common/text/str_cat.h"
#include "common/text/utf8.h"

namespace horizon {
namespace {

constexpr uint64_t kHighBits = 0x8080808080808080ULL;

// The first byte at or after `at` that is not ASCII.
size_t SkipAscii(std::string_view text, size_t at) {
  for (; at + sizeof(uint64_t) <= text.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, sizeof(word));
    if ((word & kHighBits) != 0) break;
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) ++at;
  return at;
}

// The first place where `text` is not UTF-8, or its end.
size_t FindInvalid(std::string_view text, size_t at) {
  while ((at = SkipAscii(text, at)) < text.size()) {
    const size_t length = Utf8Length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return at;
}

bool HasCategory(char32_t character, uint32_t mask) {
  return (U_GET_GC_MASK(static_cast<UChar32>(character)) & mask) != 0;
}

bool HasProperty(char32_t character, UProperty property) {
  return u_hasBinaryProperty(static_cast<UChar32>(character), property) != 0;
}

}  // namespace

bool IsAscii(std::string_view text) { return SkipAscii(text, 0) == text.size(); }

size_t MaximalSubpart(std::string_view text) {
  // From the third byte on every continuation byte will do, so 0x80 completes what can be
  // completed.
  for (const size_t length : {3, 2}) {
    if (text.size() < length) continue;
    std::string whole(text.substr(0, length));
    while (whole.size() < 4) {
      whole.push_back('\x80');
      if (Utf8Length(whole) == whole.size()) return length;
    }
  }
  return 1;
}

std::string_view WithValidUtf8(std::string_view text, std::string& storage) {
  size_t at = FindInvalid(text, 0);
  if (at == text.size()) return text;
  storage.assign(text.substr(0, at));
  while (at < text.size()) {
    storage.append(kReplacementCharacter);
    at += MaximalSubpart(text.substr(at));
    const size_t next = FindInvalid(text, at);
    storage.append(text.substr(at, next - at));
    at = next;
  }
  return storage;
}

char32_t NextCharacter(std::string_view text, size_t& at) {
  const auto byte = [&] { return static_cast<unsigned char>(text[at++]); };
  const char32_t first = byte();
  if (first < 0x80) return first;
  const auto more = [&](char32_t so_far) { return (so_far << 6) | (byte() & 0x3FU); };
  if (first < 0xE0) return more(first & 0x1FU);
  if (first < 0xF0) return more(more(first & 0x0FU));
  return more(more(more(first & 0x07U)));
}

size_t LastCharacterBegin(std::string_view text, size_t end) {
  if (end > 0) --end;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return end;
}

void AppendCharacter(char32_t character, std::string& text) {
  const auto tail = [&](unsigned shift) {
    text.push_back(static_cast<char>(0x80U | ((character >> shift) & 0x3FU)));
  };
  if (character < 0x80) {
    text.push_back(static_cast<char>(character));
  } else if (character < 0x800) {
    text.push_back(static_cast<char>(0xC0U | (character >> 6)));
    tail(0);
  } else if (character < 0x10000) {
    text.push_back(static_cast<char>(0xE0U | (character >> 12)));
    tail(6);
    tail(0);
  } else {
    text.push_back(static_cast<char>(0xF0U | (character >> 18)));
    tail(12);
    tail(6);
    tail(0);
  }
}

absl::Status VisitGraphemes(std::string_view text,
                            absl::FunctionRef<void(std::string_view)> visit) {
  UErrorCode error = U_ZERO_ERROR;
  const std::unique_ptr<icu::BreakIterator> breaks(
      icu::BreakIterator::createCharacterInstance(icu::Locale::getRoot(), error));
  UText* source = utext_openUTF8(nullptr, text.data(), static_cast<int64_t>(text.size()), &error);
  if (U_SUCCESS(error) && text.size() < INT32_MAX) breaks->setText(source, error);
  const bool ok = U_SUCCESS(error) && text.size() < INT32_MAX;
  for (int32_t begin = 0; ok;) {
    const int32_t end = breaks->next();
    if (end == icu::BreakIterator::DONE) break;
    visit(text.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
    begin = end;
  }
  utext_close(source);
  if (ok) return absl::OkStatus();
  return absl::ResourceExhaustedError(StrCat("ICU cannot find the characters of a text of ",
                                             text.size(), " bytes: ", u_errorName(error)));
}

bool IsWhiteSpace(char32_t character) { return HasProperty(character, UCHAR_WHITE_SPACE); }

bool IsWordCharacter(char32_t character) {
  return HasCategory(character, U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK) ||
         HasProperty(character, UCHAR_ALPHABETIC) || HasProperty(character, UCHAR_JOIN_CONTROL);
}

bool IsNumber(char32_t character) { return HasCategory(character, U_GC_N_MASK); }

bool IsPunctuation(char32_t character) {
  if (character < 0x80) return HasCategory(character, U_GC_P_MASK | U_GC_S_MASK);
  return HasCategory(character, U_GC_P_MASK);
}

bool IsMark(char32_t character) { return HasCategory(character, U_GC_M_MASK); }

void AppendLowerCase(char32_t character, std::string& text) {
  // The one character whose lower case is two, whatever stands around it (SpecialCasing.txt).
  if (character == 0x130) {
    text.append("i\xCC\x87");
    return;
  }
  AppendCharacter(static_cast<char32_t>(u_tolower(static_cast<UChar32>(character))), text);
}

}  // namespace horizon
