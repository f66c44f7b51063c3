// Whatever is said in a conversation, its text is that of the template and no text of a record
// becomes a special token: each message has as many as one that says "x". What is trained lies in
// what was written for the assistant, and each answer's end is trained.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/check.h"
#include "model/chat/chat_encoder.h"
#include "tests/common/fuzz/fuzz_driver.h"
#include "tests/runtime/data/fake_chat.h"

namespace horizon {
namespace {

constexpr std::string_view kTemplates[] = {
    "chatml", "llama3", "mistral", "plain",
    // Words that are changed on their way, and a template that ends with the next message.
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' }}{% if m.role == 'assistant' and "
    "'</think>' in m.content %}{{ m.content.split('</think>')[-1].lstrip('\\n') }}{% else %}"
    "{{ m.content | trim | replace('a', '<') }}{% endif %}{{ '<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n<think>' }}{% endif %}",
    "{% for m in messages %}{{ '<|eot_id|>' if m.role == 'user' else '<|im_start|>' }}"
    "{{ m.content[::-1] }}{% endfor %}{{ eos_token }}"};

// A message a line: the system's where it begins with '!', then user and assistant in turn.
Conversation ConversationOf(std::string_view text) {
  Conversation conversation;
  bool asks = true;
  for (const absl::string_view line :
       absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    const bool system = conversation.messages.empty() && !line.empty() && line[0] == '!';
    conversation.messages.push_back(TextMessage(system ? "system"
                                                : asks ? "user"
                                                       : "assistant",
                                                std::string_view(line.data(), line.size())));
    asks = system || !asks;
  }
  return conversation;
}

int64_t SpecialIds(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  return std::count_if(ids.begin(), ids.end(), [&](int32_t id) { return tokenizer.IsSpecial(id); });
}

void TryTemplate(const FakeChat& chat, const Conversation& conversation) {
  const ChatEncoder& encoder = chat.encoder();
  const absl::StatusOr<EncodedChat> encoded =
      encoder.Encode(conversation, GenerationPrompt::kWithout);
  const absl::StatusOr<ChatTokens> tokens = encoder.EncodeForTraining(conversation);
  CHECK(encoded.status() == tokens.status());
  if (!encoded.ok()) {
    CHECK(absl::IsResourceExhausted(encoded.status()) || absl::IsInvalidArgument(encoded.status()));
    return;
  }
  CHECK(encoded->ids == tokens->ids && tokens->mask.trained.size() == tokens->ids.size());
  CHECK(chat.tokenizer().Decode(encoded->ids, Tokenizer::SpecialTokens::kSpell) ==
        encoded->text.text());
  Conversation harmless = conversation;
  for (ChatMessage& message : harmless.messages) message = TextMessage(message.role(), "x");
  const absl::StatusOr<EncodedChat> expected = encoder.Encode(harmless, GenerationPrompt::kWithout);
  CHECK(expected.ok());
  CHECK(SpecialIds(chat.tokenizer(), encoded->ids) == SpecialIds(chat.tokenizer(), expected->ids));
  bool answers = false;
  for (const ChatMessage& message : conversation.messages) answers = answers || message.trained;
  for (size_t i = 0; i < tokens->ids.size(); ++i) {
    if (!tokens->mask.trained[i]) continue;
    const int32_t message = encoded->text.OriginAt(encoded->offsets[i].begin).message;
    const bool own = message >= 0 && conversation.messages[static_cast<size_t>(message)].trained;
    // Only a token that ends an answer may stand elsewhere.
    CHECK(own || chat.tokenizer().IsSpecial(tokens->ids[i]));
  }
  CHECK(tokens->mask.last_end.has_value() == answers);
  if (answers) CHECK(tokens->mask.trained[*tokens->mask.last_end]);
}

void TryChat(std::string_view text) {
  static const std::vector<FakeChat>* const chats = [] {
    auto* made = new std::vector<FakeChat>();
    for (const std::string_view how : kTemplates) made->emplace_back(how);
    return made;
  }();
  const Conversation conversation = ConversationOf(text);
  for (const FakeChat& chat : *chats) TryTemplate(chat, conversation);
}

}  // namespace
}  // namespace horizon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  horizon::TryChat({reinterpret_cast<const char*>(data), size});
  return 0;
}
