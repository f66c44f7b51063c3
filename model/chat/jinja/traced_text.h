#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace horizon {

// Where a part of a rendered text comes from.
struct TextOrigin {
  // Copied from a variable that the caller gave (a record's words), not spelled in the template.
  bool quoted = false;
  // The message it belongs to, by its number in the conversation; -1: none. In what a template
  // renders: the message that the innermost loop over messages was at when the text was written;
  // outside of such loops the message that the text was copied from.
  int32_t message = -1;
  // Written inside {% generation %} ... {% endgeneration %}.
  bool generation = false;
  friend bool operator==(const TextOrigin&, const TextOrigin&) = default;
};

// The bytes of a text up to `end` (not included) that no earlier run covers.
struct TextRun {
  size_t end = 0;
  TextOrigin origin;
  friend bool operator==(const TextRun&, const TextRun&) = default;
};

// A text of which every byte knows its origin. For example '<|im_start|>' + message.role has two
// runs: 12 bytes of the template, then those of the role, which are quoted. Neighbouring runs have
// different origins and none is empty, so two texts are equal when text and runs are.
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
  // Bytes [begin, end), which lie within the text (CHECK).
  TracedText Slice(size_t begin, size_t end) const;
  // The origin of a byte of the text (CHECK).
  TextOrigin OriginAt(size_t byte) const;
  friend bool operator==(const TracedText&, const TracedText&) = default;

 private:
  std::string text_;
  std::vector<TextRun> runs_;
};

}  // namespace horizon
