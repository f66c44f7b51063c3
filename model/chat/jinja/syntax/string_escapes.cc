#include "model/chat/jinja/syntax/string_escapes.h"

#include <array>
#include <cstddef>
#include <cstdio>

#include "common/text/str_cat.h"
#include "model/tokenizer/text/unicode_text.h"

namespace horizon {
namespace {

int HexDigit(char byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  const char lower = static_cast<char>(byte | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Python first writes characters beyond ASCII as escapes, so that a backslash before one of them
// makes a backslash and the text of that escape.
void AppendEscapeOf(char32_t character, std::string& text) {
  std::array<char, 16> escape = {};
  const char* format = character < 0x100 ? "\\x%02x" : character < 0x10000 ? "\\u%04x" : "\\U%08x";
  const int length =
      std::snprintf(escape.data(), escape.size(), format, static_cast<unsigned>(character));
  text.append(escape.data(), static_cast<size_t>(length));
}

std::string ReadHex(std::string_view written, size_t& at, size_t digits, std::string& text) {
  char32_t character = 0;
  for (size_t i = 0; i < digits; ++i, ++at) {
    const int digit = at < written.size() ? HexDigit(written[at]) : -1;
    if (digit < 0) return StrCat("an escape has less than ", digits, " hexadecimal digits");
    character = character * 16 + static_cast<char32_t>(digit);
  }
  if (character > 0x10FFFF) return "an escape lies beyond U+10FFFF";
  if (character >= 0xD800 && character <= 0xDFFF) return "an escape is half of a surrogate pair";
  AppendCharacter(character, text);
  return "";
}

}  // namespace

std::string ReadEscapes(std::string_view written, std::string& text) {
  constexpr std::string_view kLetters = "abfnrtv\\'\"";
  constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v\\'\"";
  for (size_t at = 0; at < written.size();) {
    if (written[at] != '\\' || at + 1 >= written.size()) {
      text.push_back(written[at++]);
      continue;
    }
    const char letter = written[at + 1];
    if (static_cast<unsigned char>(letter) >= 0x80) {
      ++at;
      AppendEscapeOf(NextCharacter(written, at), text);
      continue;
    }
    at += 2;
    std::string reason;
    if (const size_t known = kLetters.find(letter); known != std::string_view::npos) {
      text.push_back(kMeanings[known]);
    } else if (letter == 'x') {
      reason = ReadHex(written, at, 2, text);
    } else if (letter == 'u') {
      reason = ReadHex(written, at, 4, text);
    } else if (letter == 'U') {
      reason = ReadHex(written, at, 8, text);
    } else if (letter == 'N') {
      reason = "characters by their names (\\N{...}) are not supported; write \\uXXXX";
    } else if (letter >= '0' && letter <= '7') {
      char32_t character = static_cast<char32_t>(letter - '0');
      for (int i = 0; i < 2 && at < written.size() && written[at] >= '0' && written[at] <= '7';
           ++i) {
        character = character * 8 + static_cast<char32_t>(written[at++] - '0');
      }
      AppendCharacter(character, text);
    } else if (letter != '\n') {
      text.push_back('\\');
      text.push_back(letter);
    }
    if (!reason.empty()) return reason;
  }
  return "";
}

}  // namespace horizon
