#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "model/tokenizer/tokenizer.h"

namespace horizon {

// A text that a tokenizer is working on, with the origin of each byte in the original input. Owns
// nothing.
struct AlignedText {
  std::string_view text;  // UTF-8
  // For each byte of `text`, the range of the original that it was made from. nullptr: `text` is an
  // unchanged part of the original that begins at `base`.
  const ByteRange* ranges = nullptr;
  size_t base = 0;

  // The range of the original that `part` was made from, in whole characters. `part` is a view into
  // `text` that is not empty.
  ByteRange OriginOf(std::string_view part) const;
  // The same for `part` alone. `part` must begin and end between characters.
  AlignedText Slice(std::string_view part) const;
};

// Tracks the origin of every byte of a text through several rewriting steps. For example, a step
// that replaces the first character (2 bytes) by one byte and keeps the rest of an n-byte text:
//
//   alignment.Reset(text);
//   alignment.Take(1, 0, 2);
//   alignment.Keep(2, n);
//   alignment.Finish();
class Alignment {
 public:
  // Starts with an unchanged text.
  void Reset(const AlignedText& text);
  // Starts with the text that WithValidUtf8 (unicode_text.h) makes of `original`.
  void ResetToValid(std::string_view original);

  // Describes the result of a step from front to back: the next `bytes` bytes come from bytes
  // [begin, end) of the current text. If that range is empty, they come from no text, and `begin`,
  // which is at most the size of the current text, is the place where they were inserted. Finish
  // makes the result the current text.
  void Take(size_t bytes, size_t begin, size_t end);
  // The next bytes are bytes [begin, end) of the current text, unchanged.
  void Keep(size_t begin, size_t end);
  void Finish();

  const ByteRange* data() const { return ranges_.data(); }
  size_t size() const { return ranges_.size(); }
  // Frees the memory if it has room for more than `kept` bytes of text.
  void ReleaseMemoryAbove(size_t kept);

 private:
  std::vector<ByteRange> ranges_;
  std::vector<ByteRange> next_;
};

}  // namespace horizon
