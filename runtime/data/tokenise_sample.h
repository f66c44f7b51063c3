#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/chat/chat_encoder.h"
#include "model/tokenizer/tokenizer.h"
#include "runtime/data/records/record_stream.h"
#include "runtime/data/sample.h"
#include "runtime/data/token_line.h"

namespace horizon {

// Everything that decides the ids and labels of a sample.
struct TokeniseOptions {
  const Tokenizer* tokenizer = nullptr;  // outlives the use; may be null for DataKind::kTokens
  std::optional<int32_t> end_id;         // the token that ends a document, if the model has one
  // Encodes conversations with the same tokenizer. An error in it is reported when there is a
  // conversation to encode.
  absl::StatusOr<ChatEncoder> chat = absl::InvalidArgumentError("no chat template was chosen");
  int64_t vocab = 0;             // the model's vocabulary size: ids are below it; at most 2^31 - 1
  int64_t sequence = 0;          // longest sample in tokens: 2 to 2^28
  bool train_on_prompt = false;  // train on all of a conversation, not only on the answers
};

// InvalidArgument when samples of a kind cannot be tokenised at all: no tokenizer, no chat
// template, or a template that cannot be parsed.
absl::Status CheckKind(DataKind kind, const TokeniseOptions& options);

// Computes the ids and labels of a whole sample, however long it is. CheckKind must have returned
// OK.
//
// A document has no labels here: its labels are its ids. It begins with the tokenizer's Prefix and
// ends with end_id. So does the text of a prompt and completion; in it the tokens that hold a byte
// of the completion have labels. A conversation is what its chat template writes; the answers have
// labels (loss_mask.h). With train_on_prompt all tokens have labels.
//
// InvalidArgument for an id that the model does not have and for a conversation that the template
// rejects; Encode's errors. The messages do not say where in the data; the caller adds that. Any
// thread.
absl::Status TokeniseSample(const Sample& sample, const TokeniseOptions& options, TokenLine& line);

// Computes the ids of a piece of a text file; the first piece begins as a document does. EndText
// appends what ends the document.
absl::Status TokenisePiece(const DataRecord& piece, const TokeniseOptions& options,
                           TokenLine& line);
void EndText(const TokeniseOptions& options, TokenLine& line);

}  // namespace horizon
