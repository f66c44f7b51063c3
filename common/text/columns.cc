#include "common/text/columns.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "common/text/utf8.h"

namespace horizon {
namespace {

// The bytes of the first character of a text that is not empty; a byte that begins none counts as
// one.
size_t FirstLength(std::string_view text) { return std::max<size_t>(1, Utf8Length(text)); }

// The columns of one character, as FirstLength cut it off.
int ColumnsOfCharacter(std::string_view character) {
  if (character.size() == 1) return 1;
  UChar32 code = 0;
  int32_t at = 0;
  U8_NEXT_UNSAFE(character.data(), at, code);
  switch (u_charType(code)) {
    case U_NON_SPACING_MARK:
    case U_ENCLOSING_MARK:
    case U_FORMAT_CHAR:
      return 0;
    default:
      break;
  }
  const int width = u_getIntPropertyValue(code, UCHAR_EAST_ASIAN_WIDTH);
  return width == U_EA_WIDE || width == U_EA_FULLWIDTH ? 2 : 1;
}

}  // namespace

int ColumnsOf(std::string_view text) {
  int columns = 0;
  while (!text.empty()) {
    const size_t length = FirstLength(text);
    columns += ColumnsOfCharacter(text.substr(0, length));
    text.remove_prefix(length);
  }
  return columns;
}

std::string_view FirstColumns(std::string_view text, int columns) {
  size_t end = 0;
  int used = 0;
  while (end < text.size()) {
    const size_t length = FirstLength(text.substr(end));
    used += ColumnsOfCharacter(text.substr(end, length));
    if (used > columns) break;
    end += length;
  }
  return text.substr(0, end);
}

}  // namespace horizon
