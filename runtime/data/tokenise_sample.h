#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/chat_format.h"
#include "model/tokenizer/tokenizer.h"
#include "runtime/data/record_stream.h"
#include "runtime/data/sample.h"
#include "runtime/data/token_line.h"

namespace horizon {

// Everything that decides the ids and labels of a sample.
struct TokeniseOptions {
  const Tokenizer* tokenizer = nullptr;  // outlives the use; may be missing for DataKind::kTokens
  std::optional<int32_t> end_id;         // ends a document, where the model has one
  // Of conversations. An error is reported when there is one to write down (ChooseChatFormat).
  absl::StatusOr<ChatFormat> chat = ChatFormat();
  int64_t vocab = 0;             // the model's: ids are below it; at most 2^31 - 1
  int64_t sequence = 0;          // most tokens of a sample: 2 to 2^28
  bool train_on_prompt = false;  // learn all of a conversation, not the answers alone
};

// InvalidArgument when samples of a kind cannot be tokenised at all: no tokenizer, no chat format,
// a special token that the tokenizer does not have.
absl::Status CheckKind(DataKind kind, const TokeniseOptions& options);

// The ids and labels of a whole sample, however long it is; CheckKind was OK. A document has no
// labels: they are its ids; it begins with the tokenizer's Prefix and ends with end_id. Of a
// conversation only the answers, each with the token that ends it, have labels, unless
// train_on_prompt. InvalidArgument for an id that the model does not have, Encode's errors; the
// caller says where. Any thread.
absl::Status TokeniseSample(const Sample& sample, const TokeniseOptions& options, TokenLine& line);

// The ids of a piece of a text file, which begins as a document does; EndText gives what its end
// adds.
absl::Status TokenisePiece(const DataRecord& piece, const TokeniseOptions& options,
                           TokenLine& line);
void EndText(const TokeniseOptions& options, TokenLine& line);

}  // namespace horizon
