#include "model/tokenizer/text/alignment.h"

#include <algorithm>

#include "common/text/utf8.h"
#include "model/tokenizer/text/unicode_text.h"

namespace horizon {
namespace {

bool IsInsideCharacter(std::string_view text, size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
}

void ShrinkTo(size_t kept, std::vector<ByteRange>& ranges) {
  if (ranges.capacity() <= kept) return;
  ranges.clear();
  ranges.shrink_to_fit();
}

}  // namespace

ByteRange AlignedText::OriginOf(std::string_view part) const {
  auto begin = static_cast<size_t>(part.data() - text.data());
  size_t end = begin + part.size();
  if (part.empty()) return {base, base};
  if (ranges != nullptr) return {ranges[begin].begin, ranges[end - 1].end};
  while (begin > 0 && IsInsideCharacter(text, begin)) --begin;
  while (IsInsideCharacter(text, end)) ++end;
  return {base + begin, base + end};
}

AlignedText AlignedText::Slice(std::string_view part) const {
  const auto begin = static_cast<size_t>(part.data() - text.data());
  return {part, ranges == nullptr ? nullptr : ranges + begin, base + begin};
}

void Alignment::Reset(const AlignedText& text) {
  ranges_.clear();
  ranges_.reserve(text.text.size());
  for (size_t at = 0; at < text.text.size();) {
    const size_t begin = at;
    NextCharacter(text.text, at);
    ranges_.insert(ranges_.end(), at - begin, text.OriginOf(text.text.substr(begin, at - begin)));
  }
}

void Alignment::ResetToValid(std::string_view original) {
  ranges_.clear();
  for (size_t at = 0; at < original.size();) {
    const std::string_view rest = original.substr(at);
    const size_t length = Utf8Length(rest);
    const size_t taken = length == 0 ? MaximalSubpart(rest) : length;
    ranges_.insert(ranges_.end(), length == 0 ? kReplacementCharacter.size() : length,
                   ByteRange{at, at + taken});
    at += taken;
  }
}

void Alignment::Take(size_t bytes, size_t begin, size_t end) {
  ByteRange origin;
  if (begin < end) {
    origin = {ranges_[begin].begin, ranges_[end - 1].end};
  } else if (!ranges_.empty()) {
    const size_t place =
        begin < ranges_.size() ? ranges_[begin].begin : ranges_[ranges_.size() - 1].end;
    origin = {place, place};
  }
  next_.insert(next_.end(), bytes, origin);
}

void Alignment::Keep(size_t begin, size_t end) {
  next_.insert(next_.end(), ranges_.begin() + static_cast<std::ptrdiff_t>(begin),
               ranges_.begin() + static_cast<std::ptrdiff_t>(end));
}

void Alignment::Finish() {
  ranges_.swap(next_);
  next_.clear();
}

void Alignment::ReleaseMemoryAbove(size_t kept) {
  ShrinkTo(kept, ranges_);
  ShrinkTo(kept, next_);
}

}  // namespace horizon
