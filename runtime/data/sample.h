#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/documents/enum_words.h"
#include "model/chat/conversation.h"
#include "runtime/data/token_line.h"

namespace horizon {

// The format of a record in a data file. Keys that no format knows ("id", "source") are ignored.
enum class DataKind {
  kText,      // {"text"}: a document, trained on as a whole
  kAlpaca,    // {"instruction", "output"}; also "input", "system", "history": [[question, answer]]
  kMessages,  // {"messages": [{"role", "content"}]}; also "system", "tools"
  kShareGpt,  // {"conversations": [{"from", "value"}]}; also "system", "tools"
  kQa,        // {"query", "response"}, {"question", "answer"}, {"prompt", "completion"|"response"}
  // {"prompt", "completion"}: two strings that are concatenated, or two lists of messages.
  kPromptCompletion,
  kTokens,  // {"input_ids"}; also "labels", "attention_mask" (token_line.h)
};
std::span<const EnumWord<DataKind>> WordsOf(DataKind);

// One parsed record. Which fields are set depends on its kind.
struct Sample {
  DataKind kind = DataKind::kText;
  std::string text;           // kText; kPromptCompletion of strings: prompt and completion
  size_t prompt_bytes = 0;    // kPromptCompletion of strings: length of the prompt within `text`
  TokenLine tokens;           // kTokens
  Conversation conversation;  // other kinds (read_conversation.h); no messages: not used
};
// Whether every record of a kind is a conversation.
inline bool IsConversation(DataKind kind) {
  return kind != DataKind::kText && kind != DataKind::kTokens &&
         kind != DataKind::kPromptCompletion;
}

// Detects the kind of a record from its keys: the first that fits in the order kTokens, kMessages,
// kShareGpt, kAlpaca, kPromptCompletion, kQa, kText. kText is last because some data has a "text"
// beside the fields it was made from. InvalidArgument when no kind fits, naming the keys, and when
// `json` is not a JSON object.
absl::StatusOr<DataKind> DetectKind(std::string_view json);

// Parses a record of a kind into `sample`, reusing its strings. InvalidArgument, with the reason
// but without file and line, for invalid JSON (at most 64 levels and a million values, no repeated
// keys), a missing key, a wrong type, and what read_conversation.h rejects; for kTokens, what
// token_line.h rejects with `limits`.
absl::Status ParseSample(std::string_view json, DataKind kind, const TokenLimits& limits,
                         Sample& sample);

}  // namespace horizon
