#include <algorithm>
#include <array>

#include "model/tokenizer/tokenizer.h"

namespace horizon {

absl::Status Tokenizer::EncodeWithOffsets(std::string_view text, const EncodeOptions& options,
                                          std::vector<int32_t>& ids,
                                          std::vector<ByteRange>& offsets) const {
  return absl::UnimplementedError("this tokenizer does not say which bytes its tokens cover");
}

// A tokenizer may treat the first token of a text in its own way (its space, say). So one id whose
// text is out already stays, and what follows it is decoded behind it.
std::string TextStream::Push(int32_t id) {
  if (tokenizer_.IsSpecial(id)) return "";
  pending_.push_back(id);
  const std::string text = tokenizer_.Decode(pending_, Tokenizer::SpecialTokens::kSkip);
  const size_t uncertain = std::min(tokenizer_.UncertainBytes(pending_), text.size());
  const size_t certain = std::max(given_, text.size() - uncertain);
  std::string piece = text.substr(given_, certain - given_);
  given_ = certain;
  if (uncertain > 0) return piece;
  const std::array<int32_t, 1> last = {id};
  const std::string alone = tokenizer_.Decode(last, Tokenizer::SpecialTokens::kSkip);
  if (alone.empty() || tokenizer_.UncertainBytes(last) > 0) return piece;
  pending_.assign(1, id);
  given_ = alone.size();
  return piece;
}

std::string TextStream::Finish() {
  const std::string text = tokenizer_.Decode(pending_, Tokenizer::SpecialTokens::kSkip);
  std::string piece = text.substr(std::min(given_, text.size()));
  pending_.clear();
  given_ = 0;
  return piece;
}

}  // namespace horizon
