#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/check.h"
#include "model/chat/chat_encoder.h"
#include "model/tokenizer/load_tokenizer.h"
#include "tests/runtime/data/fake_tokenizer.h"

namespace horizon {

// A model with FakeTokenizer whose texts begin with <s> and end with <|end|>, and how it writes
// conversations.
class FakeChat {
 public:
  // `how`: a word of BuiltInFormat, or a template (it has a brace).
  explicit FakeChat(std::string_view how = "plain", FakeTokenizer::Options options = {},
                    ChatChoice choice = {}) {
    model_.tokenizer = std::make_unique<FakeTokenizer>(std::move(options));
    model_.begin_id = model_.tokenizer->IdOf("<s>");
    model_.end_id = FakeTokenizer::kEnd;
    model_.special_tokens = {{"bos_token", "<s>"}, {"eos_token", "<|end|>"}};
    if (how.find('{') == std::string_view::npos) {
      choice.format = std::string(how);
    } else {
      model_.chat_templates = {{"default", std::string(how), "chat.jinja"}};
    }
    absl::StatusOr<ChatEncoder> made = MakeChatEncoder(model_, choice);
    status_ = made.status();
    if (made.ok()) encoder_ = *std::move(made);
  }

  const absl::Status& status() const { return status_; }
  const Tokenizer& tokenizer() const { return *model_.tokenizer; }
  const ModelTokenizer& model() const { return model_; }
  const ChatEncoder& encoder() const {
    CHECK(encoder_.has_value());
    return *encoder_;
  }

 private:
  ModelTokenizer model_;
  absl::Status status_;
  std::optional<ChatEncoder> encoder_;
};

// A conversation of texts: {{"user", "Q"}, {"assistant", "A"}}.
inline Conversation TextConversation(
    const std::vector<std::pair<std::string_view, std::string_view>>& messages) {
  Conversation conversation;
  for (const auto& [role, content] : messages) {
    conversation.messages.push_back(TextMessage(role, content));
  }
  return conversation;
}

}  // namespace horizon
