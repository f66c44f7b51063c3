#include "report/terminal/styled_line.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "common/text/columns.h"
#include "common/text/str_cat.h"
#include "common/text/utf8.h"

namespace horizon {
namespace {

std::string_view CodeOf(Tone tone) {
  switch (tone) {
    case Tone::kPlain:
      return "";
    case Tone::kStrong:
      return "1";
    case Tone::kDim:
      return "2";
    case Tone::kGood:
      return "32";
    case Tone::kWarning:
      return "33";
    case Tone::kBad:
      return "31";
    case Tone::kPredicted:
      return "36";
    case Tone::kMeasured:
      return "34";
  }
  return "";
}

bool IsControl(std::string_view letter) {
  const auto first = static_cast<unsigned char>(letter[0]);
  if (letter.size() == 1) return first < 0x20 || first == 0x7F;
  // U+0080 to U+009F, which some terminals obey too.
  return letter.size() == 2 && first == 0xC2 && static_cast<unsigned char>(letter[1]) < 0xA0;
}

// The text with '?' for each column of every character beyond ASCII.
std::string InAscii(std::string_view text) {
  std::string ascii;
  while (!text.empty()) {
    const std::string_view letter = text.substr(0, Utf8Length(text));
    ascii += letter.size() == 1 ? std::string(letter)
                                : std::string(static_cast<size_t>(ColumnsOf(letter)), '?');
    text.remove_prefix(letter.size());
  }
  return ascii;
}

}  // namespace

StyledLine& StyledLine::Add(std::string_view text, Tone tone) {
  std::string clean;
  while (!text.empty()) {
    const size_t length = std::max<size_t>(1, Utf8Length(text));
    const std::string_view letter = text.substr(0, length);
    clean += Utf8Length(text) == 0 || IsControl(letter) ? std::string_view("?") : letter;
    text.remove_prefix(length);
  }
  width_ += ColumnsOf(clean);
  pieces_.push_back({std::move(clean), tone});
  return *this;
}

StyledLine& StyledLine::PadTo(int column) {
  const int least = width_ == 0 ? 0 : 1;
  return Add(std::string(static_cast<size_t>(std::max(column - width_, least)), ' '));
}

std::string StyledLine::Text(const FrameStyle& style, int columns) const {
  int left = columns > 0 ? columns : std::numeric_limits<int>::max();
  std::string text;
  for (const Piece& piece : pieces_) {
    const std::string_view shown = FirstColumns(piece.text, left);
    // What does not fit hides all that would come behind it.
    left = shown.size() < piece.text.size() ? 0 : left - ColumnsOf(shown);
    const std::string part = style.utf8 ? std::string(shown) : InAscii(shown);
    const std::string_view code = CodeOf(piece.tone);
    const bool coloured = style.colour && !code.empty() && !part.empty();
    text += coloured ? StrCat("\x1b[", code, "m", part, "\x1b[0m") : part;
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

}  // namespace horizon
