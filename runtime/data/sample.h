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

// What a record of a data file means. Keys that no kind knows ("id", "source") are passed over.
enum class DataKind {
  kText,      // {"text"}: a document to continue
  kAlpaca,    // {"instruction", "output"}; also "input", "system", "history": [[question, answer]]
  kMessages,  // {"messages": [{"role", "content"}]}; also "system", "tools"
  kShareGpt,  // {"conversations": [{"from", "value"}]}; also "system", "tools"
  kQa,        // {"query", "response"}, {"question", "answer"}, {"prompt", "completion"|"response"}
  // {"prompt", "completion"}: two texts that are joined as they are, or two lists of messages.
  kPromptCompletion,
  kTokens,  // {"input_ids"}; also "labels", "attention_mask" (token_line.h)
};
std::span<const EnumWord<DataKind>> WordsOf(DataKind);

// One sample, as far as its kind has parts.
struct Sample {
  DataKind kind = DataKind::kText;
  std::string text;           // kText; kPromptCompletion of texts: both together
  size_t prompt_bytes = 0;    // of such a text, the prompt's
  TokenLine tokens;           // kTokens
  Conversation conversation;  // the others (read_conversation.h); no messages: it is none
};
// Whether every record of a kind is a conversation.
inline bool IsConversation(DataKind kind) {
  return kind != DataKind::kText && kind != DataKind::kTokens &&
         kind != DataKind::kPromptCompletion;
}

// The kind of a record from its keys; the first in the order kTokens, kMessages, kShareGpt,
// kAlpaca, kPromptCompletion, kQa, kText that fits, since some data has a "text" beside what it was
// made from. InvalidArgument when none does, naming the keys, and when `json` is no JSON object.
absl::StatusOr<DataKind> DetectKind(std::string_view json);

// Reads a record of a kind into `sample`, whose strings are used again. InvalidArgument, with the
// reason but without file and line: no valid JSON (64 levels, a million values, no key twice), a
// missing key, a wrong type, what read_conversation.h refuses; for kTokens what token_line.h
// refuses by `limits`.
absl::Status ParseSample(std::string_view json, DataKind kind, const TokenLimits& limits,
                         Sample& sample);

}  // namespace horizon
