#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "model/chat_format.h"
#include "model/tokenizer/tokenizer.h"

namespace horizon {

// What turns a conversation into ids.
struct ChatEncoder {
  const Tokenizer& tokenizer;
  const ChatFormat& format;
  std::optional<int32_t> end_id;  // of a text; ends an answer of the plain format
};

// Appends the ids of a rendered conversation or prompt (RenderChat, RenderChatPrompt), and to
// `is_answer` for each whether it is an assistant's. Special tokens are seen in markup only. The
// tokenizer's Prefix comes first where the format takes it. Encode's errors.
absl::Status EncodeChat(const ChatEncoder& encoder, std::span<const ChatSegment> segments,
                        std::vector<int32_t>& ids, std::vector<bool>& is_answer);

}  // namespace horizon
