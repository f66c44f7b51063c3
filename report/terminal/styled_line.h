#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace horizon {

// What a terminal can show.
struct FrameStyle {
  bool utf8 = false;    // Unicode block characters; else ASCII only
  bool colour = false;  // escape sequences for colours
};

// The meaning of a piece of text, which decides its colour and weight.
enum class Tone { kPlain, kStrong, kDim, kGood, kWarning, kBad, kPredicted, kMeasured };

// A line made of pieces of text, each with a tone. Wide characters take two columns (ColumnsOf).
class StyledLine {
 public:
  StyledLine() = default;
  explicit StyledLine(std::string_view text, Tone tone = Tone::kPlain) { Add(text, tone); }

  // Appends text. It can never move the cursor: control characters and invalid UTF-8 become '?'.
  StyledLine& Add(std::string_view text, Tone tone = Tone::kPlain);
  // Appends spaces up to this column, at least one unless the line is empty.
  StyledLine& PadTo(int column);

  int width() const { return width_; }
  // The line, cut to `columns` columns (0: not cut), without spaces at the end. Without style.utf8,
  // characters beyond ASCII become '?'.
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
