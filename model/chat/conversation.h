#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/documents/document.h"

namespace horizon {

// One message of a record, with its keys in order, such as {"role": "user", "content": "..."}. A
// template reads the keys that it knows: content (a string or a list of parts), tool_calls,
// reasoning_content, ... Keys with the value null are left out, as in transformers.
struct ChatMessage {
  Value::Object fields;
  bool trained = false;  // an assistant's message on which the loss is computed

  const Value* Find(std::string_view key) const;
  // The role, or empty if it is missing or not a string.
  std::string_view role() const;
};

// Makes a message of a role and a content. Bytes that are not UTF-8 become U+FFFD, as everywhere in
// a conversation.
ChatMessage TextMessage(std::string_view role, std::string_view content);

// The part of the input of a chat template that a record provides.
struct Conversation {
  std::vector<ChatMessage> messages;
  Value tools;              // an array of objects, or null: none
  Value documents;          // an array of objects, or null: none
  Value::Object arguments;  // more variables for the template (chat_template_kwargs)
};

// Whether a text is not empty and consists of letters, digits, '_' and '-' only. Templates build
// special tokens from a role that is such a word: '<|' + role + '|>'.
bool IsPlainWord(std::string_view text);

}  // namespace horizon
