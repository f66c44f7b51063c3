#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/documents/document.h"

namespace horizon {

// A message as its record has it: keys in their order, such as {"role": "user", "content": "..."}.
// Templates read what they know of it: content (a string or a list of parts), tool_calls,
// reasoning_content, ... Keys that are null are left out, as transformers does it.
struct ChatMessage {
  Value::Object fields;
  bool trained = false;  // an assistant's message that is learnt

  const Value* Find(std::string_view key) const;
  // The role, or nothing where it is missing or no string.
  std::string_view role() const;
};

// A message of two strings. What is no UTF-8 becomes U+FFFD, as everywhere in a conversation.
ChatMessage TextMessage(std::string_view role, std::string_view content);

// What a chat template is rendered with, as far as a record says it.
struct Conversation {
  std::vector<ChatMessage> messages;
  Value tools;              // an array of objects, or null: none
  Value documents;          // likewise
  Value::Object arguments;  // further variables of the template (chat_template_kwargs)
};

// Whether a text is nothing but letters, digits, '_' and '-', and has at least one of them.
// Templates build tokens from a role that is such a word: '<|' + role + '|>'.
bool IsPlainWord(std::string_view text);

}  // namespace horizon
