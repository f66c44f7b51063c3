#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace horizon {

// Breaks text into lines of a given width, for help texts. Lengths are counted in bytes: the text
// is ASCII.

// The width of what is read by a program or kept in a file: lines are as long as they need to be.
inline constexpr size_t kAnyWidth = std::numeric_limits<size_t>::max();

// The shape of the wrapped lines.
struct WrapLayout {
  size_t width = 80;  // columns of a line
  size_t column = 0;  // where the text begins, behind what already stands on its first line
  size_t hang = 0;    // spaces in front of its other lines
};

// Returns the words of `text` with single spaces and line breaks between them, and no line break at
// the end. A word that is longer than a line gets its own line.
std::string WrapText(std::string_view text, const WrapLayout& layout);

// The same for parts that are never broken, though they may have spaces: "[--batch SEQUENCES]".
std::string WrapParts(std::span<const std::string> parts, const WrapLayout& layout);

// Breaks the lines of a message that are wider than `width` columns at a space; what follows is
// indented by `hang`. Everything else stays as it is, spaces and line breaks too, and a word that
// is wider than a line is not broken: a path can still be copied. `column` of the layout is what
// stands before the first line. Widths are those of a terminal (ColumnsOf).
std::string WrapMessage(std::string_view text, const WrapLayout& layout);

// Wraps whole paragraphs. Consecutive lines form one paragraph, which an empty line ends. A line
// that begins with spaces also ends it and stays a separate line. If such a line is too long and
// has a second column (text after two or more spaces), it continues below that column:
//     "  horizon checkpoint show RUN   Show step, job, plan and bytes"
// Ends with a line break, unless the text is empty.
std::string WrapParagraphs(std::string_view text, size_t width);

}  // namespace horizon
