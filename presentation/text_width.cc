#include "presentation/text_width.h"

#include <algorithm>
#include <cstddef>

#include "common/text/str_cat.h"
#include "common/text/utf8.h"

namespace horizon {
namespace {

// Widths in em, rounded up from DejaVu Sans and Segoe UI, the wider of the usual system fonts.
double GlyphWidth(std::string_view sequence) {
  constexpr double kCjk = 1.0;
  constexpr double kOtherScript = 0.66;
  if (sequence.size() > 1) {
    // U+2E80 and above, where East Asian scripts and emoji begin, starts with the byte 0xE2 0xBA.
    return sequence >= "\xE2\xBA\x80" ? kCjk : kOtherScript;
  }
  const char c = sequence.front();
  if (std::string_view("ijl.,:;'|!()[] ").find(c) != std::string_view::npos) return 0.36;
  if (std::string_view("mwMW%@").find(c) != std::string_view::npos) return 0.96;
  if (c >= 'A' && c <= 'Z') return 0.70;
  if (c >= '0' && c <= '9') return 0.62;
  return 0.60;
}

size_t SequenceLength(std::string_view text) { return std::max<size_t>(1, Utf8Length(text)); }

}  // namespace

double TextWidth(std::string_view text, double font_size) {
  double width = 0;
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    width += GlyphWidth(text.substr(0, length));
    text.remove_prefix(length);
  }
  return width * font_size;
}

std::string Shortened(std::string_view text, double font_size, double width) {
  if (TextWidth(text, font_size) <= width) return std::string(text);
  const double ellipsis = font_size;
  size_t end = 0;
  double used = ellipsis;
  while (true) {
    const size_t length = SequenceLength(text.substr(end));
    used += GlyphWidth(text.substr(end, length)) * font_size;
    if (used > width) return StrCat(text.substr(0, end), "…");
    end += length;
  }
}

}  // namespace horizon
