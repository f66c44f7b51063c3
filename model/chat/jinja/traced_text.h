#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace horizon {

// The origin of a part of a rendered text.
struct TextOrigin {
  // Whether it was copied from a variable of the caller (text of a record) and not written in the
  // template.
  bool quoted = false;
  // The number of the message that it belongs to; -1: none. In rendered text this is the message
  // that the innermost loop over messages was at when the text was written. Outside of such loops
  // it is the message that the text was copied from.
  int32_t message = -1;
  // Whether it was written inside {% generation %} ... {% endgeneration %}.
  bool generation = false;
  friend bool operator==(const TextOrigin&, const TextOrigin&) = default;
};

// A run of bytes of one origin: from the end of the previous run to `end` (exclusive).
struct TextRun {
  size_t end = 0;
  TextOrigin origin;
  friend bool operator==(const TextRun&, const TextRun&) = default;
};

// A text that knows the origin of every byte. For example, '<|im_start|>' + message.role has two
// runs: 12 bytes of the template, then the bytes of the role, which are quoted. Neighbouring runs
// have different origins and no run is empty, so two texts are equal exactly if their bytes and
// runs are.
class TracedText {
 public:
  TracedText() = default;
  TracedText(std::string_view text, TextOrigin origin) { Append(text, origin); }

  const std::string& text() const { return text_; }
  std::span<const TextRun> runs() const { return runs_; }
  bool empty() const { return text_.empty(); }
  size_t size() const { return text_.size(); }

  void Append(std::string_view text, TextOrigin origin);
  void Append(const TracedText& other);
  // Bytes [begin, end), which must be within the text (CHECK).
  TracedText Slice(size_t begin, size_t end) const;
  // The origin of one byte of the text (CHECK).
  TextOrigin OriginAt(size_t byte) const;
  friend bool operator==(const TracedText&, const TracedText&) = default;

 private:
  std::string text_;
  std::vector<TextRun> runs_;
};

}  // namespace horizon
