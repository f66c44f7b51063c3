#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/chat/chat_template.h"
#include "model/chat/conversation.h"
#include "model/chat/loss_mask.h"
#include "model/tokenizer/load_tokenizer.h"
#include "model/tokenizer/tokenizer.h"

namespace horizon {

// The tokens of a conversation, and which of them are trained.
struct ChatTokens {
  std::vector<int32_t> ids;
  LossMask mask;
};

// Encodes conversations as token ids:
//
//   ASSIGN_OR_RETURN(const ChatEncoder encoder, MakeChatEncoder(model, choice));
//   ASSIGN_OR_RETURN(const ChatTokens tokens, encoder.EncodeForTraining(conversation));
//
// The rendered text of the template is encoded as a whole. No begin-of-text token is added, because
// templates write it themselves. Control tokens are recognised in the text that the template
// writes, and never in text that comes from a record. Cheap to copy and immutable: any number of
// threads may use one.
class ChatEncoder {
 public:
  // `model.tokenizer` must be set and outlive this object.
  ChatEncoder(ChatTemplate chat, const ModelTokenizer& model);

  // Renders and encodes a conversation. Returns the errors of ChatTemplate::Render and
  // Tokenizer::Encode.
  absl::StatusOr<EncodedChat> Encode(const Conversation& conversation,
                                     GenerationPrompt prompt) const;
  // Encodes a whole conversation and makes its loss mask. To find the header of an answer, it also
  // renders the generation prompt; a template that cannot render one is handled without it.
  absl::StatusOr<ChatTokens> EncodeForTraining(const Conversation& conversation) const;
  // The token that ends an answer. It is found by encoding a small conversation and taking the
  // token that the template writes after the answer; nothing if the template writes no such token.
  std::optional<int32_t> EndOfAnswer() const;

  // A text that identifies everything that determines ids and masks, apart from the tokenizer: two
  // encoders that could give different results have different texts.
  std::string Identity() const;

  const ChatTemplate& chat() const { return chat_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }

 private:
  absl::StatusOr<EncodedChat> EncodeText(TracedText text, const JinjaTemplate* source) const;
  AnswerMarks MarksFor(const Conversation& conversation) const;
  void FindOwnBytes(const Conversation& conversation, const EncodedChat& chat,
                    AnswerMarks& marks) const;
  void FindTails(const Conversation& conversation, const EncodedChat& chat,
                 AnswerMarks& marks) const;
  std::optional<int32_t> EndBehind(const Conversation& before, const AnswerMarks& marks) const;

  ChatTemplate chat_;
  const Tokenizer* tokenizer_;
  std::optional<int32_t> begin_id_;
  std::optional<int32_t> end_id_;
  // For each template: added tokens that are not special but count as control tokens.
  std::vector<std::vector<int32_t>> control_ids_;
};

// The settings and command line options for conversations.
struct ChatChoice {
  // "auto" for the model's own templates, or the word of a BuiltInFormat.
  std::string format = "auto";
  // A template of the user, which replaces those of the model.
  std::optional<ChatTemplateText> own;
  Value::Object arguments;  // more variables for the template
  int64_t now = 0;          // the date that templates write: seconds since 1970 (UTC)
};

// Makes an encoder for a model. Returns InvalidArgument if there is no tokenizer or no template,
// the template cannot be parsed, a special token of a built-in format is missing, or both a format
// and a template are chosen. `model` must outlive the result.
absl::StatusOr<ChatEncoder> MakeChatEncoder(const ModelTokenizer& model, const ChatChoice& choice);

}  // namespace horizon
