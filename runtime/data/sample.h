#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/enum_words.h"
#include "model/chat_format.h"
#include "runtime/data/token_line.h"

namespace horizon {

// What a record of a data file means. Keys that no kind knows ("id", "source") are passed over.
enum class DataKind {
  kText,      // {"text"}: a document to continue
  kAlpaca,    // {"instruction", "output"}; also "input", "system", "history": [[question, answer]]
  kMessages,  // {"messages": [{"role", "content"}]}; also "system"
  kShareGpt,  // {"conversations": [{"from", "value"}]}; also "system"
  kQa,        // {"query", "response"}, {"question", "answer"}, {"prompt", "completion"|"response"}
  kTokens,    // {"input_ids"}; also "labels" (token_line.h)
};
std::span<const EnumWord<DataKind>> WordsOf(DataKind);

// One sample, as far as its kind has parts.
struct Sample {
  DataKind kind = DataKind::kText;
  std::string text;             // kText
  TokenLine tokens;             // kTokens
  std::vector<ChatTurn> turns;  // the others: at most one system turn, then user and assistant in
                                // turn, the assistant last and never without words
};
inline bool IsConversation(DataKind kind) {
  return kind != DataKind::kText && kind != DataKind::kTokens;
}

// The kind of a record from its keys; the first in the order kTokens, kMessages, kShareGpt,
// kAlpaca, kQa, kText that fits, since some data has a "text" beside what it was made from.
// InvalidArgument when none does, naming the keys, and when `json` is no JSON object.
absl::StatusOr<DataKind> DetectKind(std::string_view json);

// Reads a record of a kind into `sample`, whose strings are used again. Content may be a string or
// a list of parts {"type": "text", "text"}, which are joined. InvalidArgument, with the reason but
// without file and line: no valid JSON (64 levels, a million values, no key twice), a missing key,
// a wrong type, an unknown role, roles out of order, an answer without words, no answer; for
// kTokens what token_line.h refuses by `limits`.
absl::Status ParseSample(std::string_view json, DataKind kind, const TokenLimits& limits,
                         Sample& sample);

}  // namespace horizon
