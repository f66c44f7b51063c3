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

// The tokens of a conversation, and which of them are learnt.
struct ChatTokens {
  std::vector<int32_t> ids;
  LossMask mask;
};

// Conversations to token ids: a template's text is encoded as a whole, and no begin of text is
// added, since templates write it themselves. Control tokens are recognised in what the template
// writes and never in text of a record. Cheap to copy, never changed once made: any number of
// threads may use one.
class ChatEncoder {
 public:
  // `model.tokenizer` is there and outlives the result.
  ChatEncoder(ChatTemplate chat, const ModelTokenizer& model);

  // Render's errors, and Encode's.
  absl::StatusOr<EncodedChat> Encode(const Conversation& conversation,
                                     GenerationPrompt prompt) const;
  // A whole conversation with its mask. The generation prompt is rendered as well, to know what the
  // header of an answer is; a template that cannot render one does without.
  absl::StatusOr<ChatTokens> EncodeForTraining(const Conversation& conversation) const;
  // The token after which an answer is over, by what the template writes behind the answer of a
  // small conversation; nothing where it writes no such token.
  std::optional<int32_t> EndOfAnswer() const;

  // A text that differs where anything differs that decides ids or masks, besides the tokenizer.
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
  // Of each template: added tokens that count as control tokens though they are not special.
  std::vector<std::vector<int32_t>> control_ids_;
};

// What the settings and the command line say of conversations.
struct ChatChoice {
  // "auto": the model's own templates; else a word of BuiltInFormat.
  std::string format = "auto";
  // A template of the user's own, in place of the model's.
  std::optional<ChatTemplateText> own;
  Value::Object arguments;  // further variables of the template
  int64_t now = 0;          // for templates that write the date: seconds since 1970 (UTC)
};

// InvalidArgument where there is no template, it cannot be read, a special token of a built-in
// format is missing, or both a format and a template are chosen. `model` outlives the result.
absl::StatusOr<ChatEncoder> MakeChatEncoder(const ModelTokenizer& model, const ChatChoice& choice);

}  // namespace horizon
