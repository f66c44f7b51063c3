#include "model/chat/jinja/traced_text.h"

#include <algorithm>

#include "common/check.h"

namespace horizon {

void TracedText::Append(std::string_view text, TextOrigin origin) {
  if (text.empty()) return;
  text_.append(text);
  if (!runs_.empty() && runs_.back().origin == origin) {
    runs_.back().end = text_.size();
  } else {
    runs_.push_back({.end = text_.size(), .origin = origin});
  }
}

void TracedText::Append(const TracedText& other) {
  if (&other == this) return Append(Slice(0, size()));
  size_t begin = 0;
  for (const TextRun& run : other.runs_) {
    Append(std::string_view(other.text_).substr(begin, run.end - begin), run.origin);
    begin = run.end;
  }
}

TracedText TracedText::Slice(size_t begin, size_t end) const {
  CHECK(begin <= end && end <= text_.size());
  TracedText slice;
  auto run = std::upper_bound(runs_.begin(), runs_.end(), begin,
                              [](size_t at, const TextRun& one) { return at < one.end; });
  for (; begin < end; ++run) {
    const size_t until = std::min(end, run->end);
    slice.Append(std::string_view(text_).substr(begin, until - begin), run->origin);
    begin = until;
  }
  return slice;
}

TextOrigin TracedText::OriginAt(size_t byte) const {
  CHECK(byte < text_.size());
  return std::upper_bound(runs_.begin(), runs_.end(), byte,
                          [](size_t at, const TextRun& one) { return at < one.end; })
      ->origin;
}

}  // namespace horizon
