#include "runtime/data/encode_chat.h"

#include "common/status_macros.h"

namespace horizon {

absl::Status EncodeChat(const ChatEncoder& encoder, std::span<const ChatSegment> segments,
                        std::vector<int32_t>& ids, std::vector<bool>& is_answer) {
  if (TakesPrefix(encoder.format)) {
    const std::span<const int32_t> prefix = encoder.tokenizer.Prefix();
    ids.insert(ids.end(), prefix.begin(), prefix.end());
  }
  is_answer.resize(ids.size(), false);
  bool first = true;
  for (const ChatSegment& segment : segments) {
    const EncodeOptions options = {
        .added = segment.is_markup ? AddedTokens::kAll : AddedTokens::kNotSpecial,
        .position = first ? TextPosition::kStart : TextPosition::kContinues};
    first = false;
    if (segment.text.empty()) {
      if (encoder.end_id.has_value()) ids.push_back(*encoder.end_id);
    } else {
      RETURN_IF_ERROR(encoder.tokenizer.Encode(segment.text, options, ids));
    }
    is_answer.resize(ids.size(), segment.is_answer);
  }
  return absl::OkStatus();
}

}  // namespace horizon
