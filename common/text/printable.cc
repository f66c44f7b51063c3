#include "common/text/printable.h"

#include <cstddef>

#include "common/text/utf8.h"

namespace horizon {
namespace {

void AppendHex(std::string_view mark, unsigned char byte, std::string& text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  text += mark;
  text += kDigits[byte >> 4];
  text += kDigits[byte & 15];
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text[0]);
    const size_t length = Utf8Length(text);
    if (length == 0 || (first < 0x20 && first != '\n' && first != '\t')) {
      AppendHex("\\x", first, shown);
    } else if (first == 0x7F) {
      AppendHex("\\u00", first, shown);
    } else if (length == 2 && first == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0) {
      // U+0080 to U+009F, which some terminals obey too.
      AppendHex("\\u00", static_cast<unsigned char>(text[1]), shown);
    } else {
      shown += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return shown;
}

}  // namespace horizon
