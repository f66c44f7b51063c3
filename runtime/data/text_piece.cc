#include "runtime/data/text_piece.h"

#include "common/check.h"

namespace horizon {
namespace {

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace

size_t PieceLength(std::string_view text, size_t most) {
  CHECK(most >= 4);
  if (text.size() <= most) return text.size();
  size_t other_break = 0;
  size_t space = 0;
  for (size_t at = most; at >= 1; --at) {
    if (text[at - 1] == '\n' && !IsSpace(text[at])) {
      if (at >= 2 && !IsSpace(text[at - 2])) return at;
      if (other_break == 0) other_break = at;
    }
    if (space == 0 && text[at] == ' ' && !IsSpace(text[at - 1])) space = at;
  }
  if (other_break > 0) return other_break;
  if (space > 0) return space;
  // Three bytes back a character begins, unless the text is not UTF-8.
  for (size_t at = most; at > most - 4; --at) {
    if ((static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U) return at;
  }
  return most;
}

}  // namespace horizon
