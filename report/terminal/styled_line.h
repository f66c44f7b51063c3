#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace horizon {

// What a terminal can show.
struct FrameStyle {
  bool utf8 = false;    // block characters; else ASCII alone
  bool colour = false;  // escape sequences for colours
};

enum class Tone { kPlain, kStrong, kDim, kGood, kWarning, kBad, kPredicted, kMeasured };

// A line put together from pieces of text, each in a tone. A letter of UTF-8 takes one column.
class StyledLine {
 public:
  StyledLine() = default;
  explicit StyledLine(std::string_view text, Tone tone = Tone::kPlain) { Add(text, tone); }

  // Whatever `text` holds, it does not move the cursor: control characters and what is not UTF-8
  // become '?'.
  StyledLine& Add(std::string_view text, Tone tone = Tone::kPlain);
  // Spaces up to this column, at least one unless the line is empty.
  StyledLine& PadTo(int column);

  int width() const { return width_; }
  // At most `columns` columns (0: all), without spaces at the end; letters beyond ASCII become '?'
  // where the style has none.
  std::string Text(const FrameStyle& style, int columns) const;

 private:
  struct Piece {
    std::string text;
    Tone tone;
  };
  std::vector<Piece> pieces_;
  int width_ = 0;
};

}  // namespace horizon
