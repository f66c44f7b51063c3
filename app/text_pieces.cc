#include "app/text_pieces.h"

#include <span>

#include "common/status_macros.h"

namespace horizon {
namespace {

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool ContinuesCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

}  // namespace

absl::StatusOr<std::string_view> TextPieces::Next() {
  buffer_.erase(0, given_);
  given_ = 0;
  const size_t kept = buffer_.size();
  buffer_.resize(largest_);
  const std::span<char> free = std::span(buffer_).subspan(kept);
  ASSIGN_OR_RETURN(const size_t count, file_.ReadAt(read_, std::as_writable_bytes(free)));
  read_ += count;
  buffer_.resize(kept + count);
  given_ = buffer_.size() < largest_ ? buffer_.size() : FindCut();
  return std::string_view(buffer_).substr(0, given_);
}

size_t TextPieces::FindCut() const {
  size_t second_best = 0;
  for (size_t at = buffer_.size() - 1; at >= 2; --at) {
    if (buffer_[at - 1] != '\n' || IsSpace(buffer_[at])) continue;
    if (!IsSpace(buffer_[at - 2])) return at;
    if (second_best == 0) second_best = at;
  }
  if (second_best > 0) return second_best;
  size_t at = buffer_.size() - 1;
  // Four bytes back there is a beginning, unless the text is not UTF-8.
  for (int i = 0; i < 3 && at > 1 && ContinuesCharacter(buffer_[at]); ++i) --at;
  return at;
}

}  // namespace horizon
