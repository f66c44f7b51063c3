#include "model/chat/conversation.h"

#include <algorithm>

#include "model/tokenizer/text/unicode_text.h"

namespace horizon {

const Value* ChatMessage::Find(std::string_view key) const {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const auto& field) { return field.first == key; });
  return found == fields.end() ? nullptr : &found->second;
}

std::string_view ChatMessage::role() const {
  const Value* role = Find("role");
  const auto* word = role == nullptr ? nullptr : role->As<std::string>();
  return word == nullptr ? std::string_view() : std::string_view(*word);
}

ChatMessage TextMessage(std::string_view role, std::string_view content) {
  ChatMessage message;
  std::string storage;
  message.fields.emplace_back("role", Value(std::string(WithValidUtf8(role, storage)), 0));
  message.fields.emplace_back("content", Value(std::string(WithValidUtf8(content, storage)), 0));
  message.trained = role == "assistant";
  return message;
}

bool IsPlainWord(std::string_view text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), is_plain);
}

}  // namespace horizon
