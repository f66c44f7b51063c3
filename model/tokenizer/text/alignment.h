#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "model/tokenizer/tokenizer.h"

namespace horizon {

// Where a text that a tokenizer works on comes from in the text it was given. Owns nothing.
struct AlignedText {
  std::string_view text;  // UTF-8
  // By byte of `text`, what it was made from; nullptr: the text stands at `base` of the original.
  const ByteRange* ranges = nullptr;
  size_t base = 0;

  // What `part`, a view into `text` that is not empty, was made from: whole characters.
  ByteRange OriginOf(std::string_view part) const;
  // The same for `part` alone, which begins and ends between characters.
  AlignedText Slice(std::string_view part) const;
};

// The origin of every byte of a text that is changed step by step.
class Alignment {
 public:
  // Begins with a text as it is.
  void Reset(const AlignedText& text);
  // Begins with what WithValidUtf8 (unicode_text.h) makes of `original`.
  void ResetToValid(std::string_view original);

  // A step describes its result from the front: the next `bytes` bytes come from the bytes
  // [begin, end) of the text so far (none of it if that is empty, at most its end). Finish makes
  // the result the text.
  void Take(size_t bytes, size_t begin, size_t end);
  // The bytes [begin, end) of the text so far, unchanged.
  void Keep(size_t begin, size_t end);
  void Finish();

  const ByteRange* data() const { return ranges_.data(); }
  size_t size() const { return ranges_.size(); }
  // Frees memory for more than `kept` bytes of text.
  void GiveBack(size_t kept);

 private:
  std::vector<ByteRange> ranges_;
  std::vector<ByteRange> next_;
};

}  // namespace horizon
