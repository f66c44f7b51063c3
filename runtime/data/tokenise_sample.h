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
  const Tokenizer* tokenizer = nullptr;  // outlives the use; may be missing for DataKind::kTokens
  std::optional<int32_t> end_id;         // ends a document, where the model has one
  // Of conversations, for the same tokenizer. An error is reported when there is one to write down.
  absl::StatusOr<ChatEncoder> chat = absl::InvalidArgumentError("no chat template was chosen");
  int64_t vocab = 0;             // the model's: ids are below it; at most 2^31 - 1
  int64_t sequence = 0;          // most tokens of a sample: 2 to 2^28
  bool train_on_prompt = false;  // learn all of a conversation, not the answers alone
};

// InvalidArgument when samples of a kind cannot be tokenised at all: no tokenizer, no chat template
// or one that cannot be read.
absl::Status CheckKind(DataKind kind, const TokeniseOptions& options);

// The ids and labels of a whole sample, however long it is; CheckKind was OK. A document has no
// labels: they are its ids; it begins with the tokenizer's Prefix and ends with end_id. So does a
// text of prompt and completion, of which the tokens that hold a byte of the completion have
// labels. A conversation is what its template writes; the answers have labels (loss_mask.h). With
// train_on_prompt all have. InvalidArgument for an id that the model does not have and for a
// conversation that the template refuses, Encode's errors; the caller says where. Any thread.
absl::Status TokeniseSample(const Sample& sample, const TokeniseOptions& options, TokenLine& line);

// The ids of a piece of a text file, which begins as a document does; EndText gives what its end
// adds.
absl::Status TokenisePiece(const DataRecord& piece, const TokeniseOptions& options,
                           TokenLine& line);
void EndText(const TokeniseOptions& options, TokenLine& line);

}  // namespace horizon
